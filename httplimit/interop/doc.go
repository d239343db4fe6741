// Package interop tries package httplimit with software that weir did not
// write: a parser of its fields, routers, and reverse proxies. It holds tests and
// the examples of how weir is put into each router, and nothing to import. It is a
// module of its own so that weir itself requires none of them.
//
// The test with nginx runs where the program is installed. WEIR_NGINX=1 makes it
// fail where it is not.
package interop
