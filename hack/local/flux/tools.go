//go:build tools

// Names the program that go.mod pins.
package flux

import _ "github.com/fluxcd/kustomize-controller"
