// Takes the place of frr-k8s, of which MetalLB's controller uses nothing: only the speaker writes FRRConfigurations. The types let it compile.
module github.com/metallb/frr-k8s

go 1.26.0

require k8s.io/apimachinery v0.37.1
