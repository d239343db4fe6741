package httplimit_test

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// The model finds a client as the documentation says it, without any thought of speed: it joins, splits
// and cuts, and reads addresses and elements by regular expressions.

var (
	modelPort      = `(?::(?:[0-9]{0,5}|_[0-9A-Za-z._-]+))?`
	modelBracketed = regexp.MustCompile(`^\[([^\]]*)\]` + modelPort + `$`)
	modelPlain     = regexp.MustCompile(`^([^:]*)` + modelPort + `$`)

	modelPair    = "([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:\"((?:[^\"\\\\]|\\\\.)*)\"|([!#-+\\--:<-\\[\\]-~]+))"
	modelPairs   = regexp.MustCompile(`(?s)` + modelPair)
	modelElement = regexp.MustCompile(`(?s)^[ \t]*(?:` + modelPair + `)?(?:[ \t]*;[ \t]*(?:` + modelPair + `)?)*[ \t]*$`)
)

func modelAddress(s string) (netip.Addr, bool) {
	if m := modelBracketed.FindStringSubmatch(s); m != nil {
		s = m[1]
	} else if m := modelPlain.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	addr, err := netip.ParseAddr(s)
	return addr.WithZone("").Unmap(), err == nil
}

// modelList is the text of each element, from the right, as far as 4096 bytes go.
func modelList(lines []string) []string {
	return modelCut(strings.Split(strings.Join(lines, ","), ","))
}

func modelCut(elements []string) []string {
	slices.Reverse(elements)
	read := 0
	for i, element := range elements {
		if read += len(element) + 1; read > 4096 {
			return append(elements[:i:i], "cut off")
		}
	}
	return elements
}

// modelForwarded is the nodes of the elements, from the right. An element is the shortest text at the end
// that is one.
func modelForwarded(lines []string) []string {
	var elements []string
	for _, line := range lines {
		var ofLine []string
		for done := false; !done; {
			begin := len(line)
			for begin > 0 && !(line[begin-1] == ',' && modelElement.MatchString(line[begin:])) {
				begin--
			}
			ofLine = append(ofLine, line[begin:])
			if done = begin == 0; !done {
				line = line[:begin-1]
			}
		}
		slices.Reverse(ofLine)
		elements = append(elements, ofLine...)
	}
	nodes := modelCut(elements)
	for i, element := range nodes {
		nodes[i] = modelNode(element)
	}
	return nodes
}

func modelNode(element string) string {
	if !modelElement.MatchString(element) {
		return "malformed"
	}
	var nodes []string
	for _, m := range modelPairs.FindAllStringSubmatch(element, -1) {
		if strings.ToLower(m[1]) == "for" {
			nodes = append(nodes, m[2]+m[3])
		}
	}
	if len(nodes) != 1 {
		return "not one for="
	}
	return nodes[0]
}

type model struct{ trusted []netip.Prefix }

func (m model) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(m.trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

func (m model) walk(peer netip.Addr, nodes []string) (client netip.Addr, namesNone bool) {
	for _, node := range nodes {
		addr, ok := modelAddress(node)
		if !ok {
			return peer, false
		}
		if !m.trusts(addr) {
			return addr, false
		}
		peer = addr
	}
	return peer, true
}

func (m model) client(remote string, plain, forwarded []string) netip.Prefix {
	peer, ok := modelAddress(remote)
	if !ok {
		return netip.Prefix{}
	}
	if !m.trusts(peer) {
		return modelPrefix(peer)
	}
	p, pNone := m.walk(peer, trimmed(modelListOf(plain)))
	f, fNone := m.walk(peer, modelForwarded(forwarded))
	switch {
	case len(plain) == 0:
		return modelPrefix(f)
	case len(forwarded) == 0, fNone:
		return modelPrefix(p)
	case pNone:
		return modelPrefix(f)
	case p == f:
		return modelPrefix(p)
	}
	return modelPrefix(peer)
}

func modelListOf(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	return modelList(lines)
}

func trimmed(elements []string) []string {
	for i, element := range elements {
		elements[i] = strings.Trim(element, " \t")
	}
	return elements
}

func modelPrefix(addr netip.Addr) netip.Prefix {
	if addr.Is4() {
		return netip.PrefixFrom(addr, 32)
	}
	return netip.PrefixFrom(addr, 64).Masked()
}
