//go:build tools

// Names the program that go.mod pins.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
