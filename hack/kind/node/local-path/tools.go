//go:build tools

// Names the programs that go.mod pins.
package localpath

import _ "github.com/rancher/local-path-provisioner"
