// Pins go-tpc, the TPC-C client of the lab, and by go.sum all that it is built from. Nothing of it is copied here.
module tidemill/lab/go-tpc

go 1.21

require github.com/pingcap/go-tpc v1.0.12
