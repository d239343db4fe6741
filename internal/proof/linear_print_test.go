package proof

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/goweir/weir"
)

// A printer writes values as text, with all that they refer to, so that values
// with the same text are alike. It leaves out functions.
type printer struct {
	strings.Builder
	seen map[uintptr]int // where pointers point to, numbered
}

func printed(values ...any) string {
	p := &printer{seen: map[uintptr]int{}}
	for _, v := range values {
		p.add(reflect.ValueOf(v))
	}
	return p.String()
}

func (p *printer) add(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		p.addPointer(v)
	case reflect.Interface:
		p.add(v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[weir.Policy]() {
			fmt.Fprint(p, v.Field(0).Pointer(), " ") // it is the same as long as it is not made again
			return
		}
		for i := range v.NumField() {
			p.add(v.Field(i))
		}
	case reflect.Slice:
		fmt.Fprint(p, v.Len(), "[")
		for i := range v.Len() {
			p.add(v.Index(i))
		}
	case reflect.Map:
		fmt.Fprint(p, v.Len(), "{")
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return int(a.Int() - b.Int()) })
		for _, key := range keys {
			p.add(key)
			p.add(v.MapIndex(key))
		}
	case reflect.Func:
	default:
		fmt.Fprint(p, v, " ")
	}
}

// addPointer tells what is the same from what is only alike, but for numbers,
// which nobody changes.
func (p *printer) addPointer(v reflect.Value) {
	at := v.Pointer()
	if seen, ok := p.seen[at]; ok {
		fmt.Fprint(p, "#", seen, " ")
		return
	}
	if v.Type() != reflect.TypeFor[*big.Rat]() {
		p.seen[at] = len(p.seen)
	}
	p.add(v.Elem())
}
