// Only the root of the module. Each minor of Kubernetes has requirements of its own, MINOR.mod and MINOR.sum: go build -modfile=1.36.mod
module herald.dev/cluster/kubernetes

go 1.24.0
