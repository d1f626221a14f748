{{- define "herald.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
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

{{/*
  HeraldConfig/default. It has the marks of the release whoever makes it, so that the release takes it for its own.
*/}}
{{- define "herald.config" -}}
apiVersion: herald.dev/v1alpha1
kind: HeraldConfig
metadata:
  name: default
  labels: {{- include "herald.labels" (dict "root" $) | nindent 4 }}
  annotations:
    meta.helm.sh/release-name: {{ .Release.Name }}
    meta.helm.sh/release-namespace: {{ .Release.Namespace }}
spec: {{- toYaml .Values.config.spec | nindent 2 }}
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
