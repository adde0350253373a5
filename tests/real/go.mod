module isthmus/tests/real

go 1.26.8
