// Package chart draws what was found as SVG, and puts it on a page of HTML that
// needs nothing else. Both follow the reader's choice of light or dark.
package chart
