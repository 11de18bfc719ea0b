module goes

go 1.15
