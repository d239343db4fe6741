module github.com/goweir/weir/internal/mutate

go 1.25.0
