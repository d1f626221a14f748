// kubectl, for tests of what users run.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func main() {
	os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))
}
