module michelangelo.api/ingester/kind/pause

go 1.26.0
