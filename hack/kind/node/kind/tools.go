//go:build tools

// Names the programs that go.mod pins.
package kind

import _ "sigs.k8s.io/kind"
