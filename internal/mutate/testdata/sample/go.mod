module example.com/sample

go 1.25.0
