// What a core installation of Argo CD runs, in one program: the application controller, the repo server and the server of
// plugins are its own, Redis is one in memory. The name it is called by decides which one it is.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	cmpserver "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "argocd-application-controller":
		run(controller.NewCommand())
	case "argocd-repo-server":
		run(reposerver.NewCommand())
	case "argocd-cmp-server":
		run(cmpserver.NewCommand())
	case "redis":
		runRedis(os.Args[1])
	default:
		fmt.Fprintf(os.Stderr, "%q is none of argocd-application-controller, argocd-repo-server, argocd-cmp-server, redis\n", name)
		os.Exit(2)
	}
}

func run(command *cobra.Command) {
	if err := command.Execute(); err != nil {
		os.Exit(1)
	}
}

func runRedis(address string) {
	if err := miniredis.NewMiniRedis().StartAddr(address); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
}
