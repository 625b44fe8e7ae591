//go:build tools

// Names the programs that go.mod pins.
package kuberouter

import _ "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"
