//go:build tools

// Names the program that go.mod pins.
package promtool

import _ "github.com/prometheus/prometheus/cmd/promtool"
