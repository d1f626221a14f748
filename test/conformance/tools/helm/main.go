// helm, for tests of the chart.
package main

import (
	"errors"
	"log/slog"
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"

	helm "helm.sh/helm/v4/pkg/cmd"
)

func main() {
	command, err := helm.NewRootCmd(os.Stdout, os.Args[1:], helm.SetupLogging)
	if err != nil {
		slog.Error("helm does not start", slog.Any("error", err))
		os.Exit(1)
	}
	if err := command.Execute(); err != nil {
		var known helm.CommandError
		if errors.As(err, &known) {
			os.Exit(known.ExitCode)
		}
		os.Exit(1)
	}
}
