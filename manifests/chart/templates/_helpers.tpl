{{- define "herald.image" -}}
{{- $image := .Values.image -}}
{{- $repository := $image.repository -}}
{{- with (.Values.global).imageRegistry | default $image.registry -}}
{{- /* As for Docker, the first part is a registry if it has a dot or a port, or is localhost. */ -}}
{{- $repository = printf "%s/%s" . (regexReplaceAll "^(localhost|[^/]*[.:][^/]*)/" $repository "") -}}
{{- end -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "herald.pullSecrets" -}}
{{- with concat (.Values.imagePullSecrets | default list) ((.Values.global).imagePullSecrets | default list) | uniq -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* What is the same for all objects of the release: (dict "root" $ "component" "controller"). */}}
{{- define "herald.labels" -}}
app.kubernetes.io/name: herald
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The annotations of an object: commonAnnotations, and its own ones, which come first: (dict "root" $ "own" (dict)). */}}
{{- define "herald.annotations" -}}
{{- with merge (dict) (.own | default dict) (.root.Values.commonAnnotations | default dict) -}}
annotations: {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/*
  HeraldConfig/default. It has the marks of the release whoever makes it, so that the release takes it for its own.
*/}}
{{- define "herald.config" -}}
apiVersion: herald.dev/v1alpha1
kind: HeraldConfig
metadata:
  name: default
  labels: {{- include "herald.labels" (dict "root" $) | nindent 4 }}
  {{- $own := dict "meta.helm.sh/release-name" .Release.Name "meta.helm.sh/release-namespace" .Release.Namespace }}
  {{- include "herald.annotations" (dict "root" $ "own" $own) | nindent 2 }}
spec: {{- include "herald.configSpec" . | nindent 2 }}
{{- end -}}

{{/*
  config.spec, and defaultClass where it leaves that open. An existing object keeps what it has. For a new one Herald serves Services without a
  class unless another load balancer controller is found: the controller finds out when it makes the object, this chart when it does. Without a
  cluster (helm template) defaultClass stays open.
*/}}
{{- define "herald.configSpec" -}}
{{- $spec := deepCopy .Values.config.spec -}}
{{- $open := and (not (hasKey $spec "defaultClass")) (ne (get $spec "compat") "metallb") -}}
{{- if and $open (not (include "herald.configComesLater" .)) (lookup "v1" "Namespace" "" "kube-system") -}}
{{- $existing := lookup "herald.dev/v1alpha1" "HeraldConfig" "" "default" -}}
{{- if not $existing -}}
{{- $_ := set $spec "defaultClass" (not (include "herald.otherLoadBalancer" .)) -}}
{{- else if hasKey ($existing.spec | default dict) "defaultClass" -}}
{{- $_ := set $spec "defaultClass" $existing.spec.defaultClass -}}
{{- end -}}
{{- end -}}
{{- toYaml $spec -}}
{{- end -}}

{{/* Not empty: another controller serves Services without a class. As src/decisions/configuration/other-load-balancers.ts. */}}
{{- define "herald.otherLoadBalancer" -}}
{{- $groups := list "cilium.io" "metallb.io" "network.kubesphere.io" "purelb.io" -}}
{{- $without := list "kind" "kubemark" "metal3" "proxmox" "sidero" "tinkerbell" "vsphere" -}}
{{- range $version := .Capabilities.APIVersions -}}
{{- if has (first (splitList "/" $version)) $groups -}}{{ $version }} {{ end -}}
{{- end -}}
{{- range (lookup "v1" "Node" "" "").items -}}
{{- $scheme := first (splitList "://" (.spec.providerID | default "")) -}}
{{- if and $scheme (not (has $scheme $without)) -}}{{ $scheme }} {{ end -}}
{{- end -}}
{{- range (lookup "v1" "Service" "" "").items -}}
{{- if and (eq .spec.type "LoadBalancer") (not .spec.loadBalancerClass) (dig "status" "loadBalancer" "ingress" "" .) -}}
{{- $ours := false -}}
{{- range dig "status" "conditions" list . }}{{ if hasPrefix "herald.dev/" .type }}{{ $ours = true }}{{ end }}{{ end -}}
{{- if not $ours }}{{ .metadata.name }} {{ end -}}
{{- end -}}
{{- end -}}
{{- if .Values.aws.clusterName }}aws{{ end -}}
{{- end -}}

{{/*
  Not empty: the API server does not know the kind, and learns it by this very release. It serves a kind a while after it was told of it, for which
  Helm does not wait, so that the release cannot bring the object along: the controller makes it. The next upgrade takes it over.
*/}}
{{- define "herald.configComesLater" -}}
{{- if and .Values.config.create (not (.Capabilities.APIVersions.Has "herald.dev/v1alpha1/HeraldConfig")) -}}
true
{{- end -}}
{{- end -}}

{{/* What a selector has, which never changes. */}}
{{- define "herald.selector" -}}
app.kubernetes.io/name: herald
app.kubernetes.io/component: {{ .component }}
{{- end -}}
