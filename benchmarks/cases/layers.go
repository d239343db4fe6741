package cases

import "github.com/goweir/weir/benchmarks/contender"

// Layers is three limiters per client that have to be passed.
func Layers() Case {
	return Case{
		Name:  "layers",
		Title: "Three layers",
		About: "Three limiters per client, of which everybody is the same client in each, with room for all: all are charged or none." +
			" Beside them the same three asked one after the other, and one alone.",
		Contenders: append([]contender.Contender{contender.FloorHot}, contender.Layered()...),
		Limit:      contender.Roomy,
		Traffic:    hot,
	}
}
