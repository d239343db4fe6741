// Package browser tries debuglimit's page in Chromium. It is a module of its own so that what
// drives the browser is not debuglimit's dependency.
//
// Its tests run where chromium is installed; WEIR_CHROMIUM=1 makes it a failure where it is not.
// With SCREENSHOTS=folder they leave pictures of the page there.
package browser
