{{- define "laggard.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "laggard.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Labels that select the pods of a role: (dict "root" . "role" "receive") */}}
{{- define "laggard.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end }}

{{- define "laggard.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "laggard.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "laggard.name" .) }}
{{- end }}

{{/* The configuration of a role: (dict "root" . "role" "receive") */}}
{{- define "laggard.config" -}}
{{- $values := .root.Values }}
{{- $store := dict "url" (required "store.url: name a bucket, such as s3://BUCKET/PREFIX" $values.store.url) "role" .role "keep_for" $values.store.keep_for }}
{{- $config := dict "logs" (dict "form" "json") }}
{{- if $values.auth.insecure }}
{{- $_ := set $config "insecure" true }}
{{- else }}
{{- $write := dict "name" "write" "file" "/tokens/write" "scopes" (list "write") }}
{{- $read := dict "name" "read" "file" "/tokens/read" "scopes" (list "read") }}
{{- $_ := set $config "tokens" (list $write $read) }}
{{- end }}
{{- toYaml (mustMergeOverwrite $config (dict "store" $store) (deepCopy $values.config)) }}
{{- end }}

{{/* The pods of a role: (dict "root" . "role" "receive" "of" .Values.receive) */}}
{{- define "laggard.pod" -}}
{{- $root := .root }}
metadata:
  labels:
    {{- include "laggard.selector" . | nindent 4 }}
    {{- with $root.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "laggard.config" . | sha256sum }}
spec:
  serviceAccountName: {{ include "laggard.serviceAccount" $root }}
  # Longer than limits.drain, with time to write open traces.
  terminationGracePeriodSeconds: 60
  securityContext: { runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: { type: RuntimeDefault } }
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: laggard
      image: {{ include "laggard.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      command: [/usr/bin/laggard]
      args: [serve, --config, /etc/laggard/laggard.yaml]
      env:
        # Addresses are variables, as in the image: they count before the configuration.
        - { name: LAGGARD_DATA, value: /data }
        - { name: LAGGARD_HTTP, value: "0.0.0.0:4316" }
        {{- if eq .role "receive" }}
        - { name: LAGGARD_OTLP_GRPC, value: "0.0.0.0:4317" }
        - { name: LAGGARD_OTLP_HTTP, value: "0.0.0.0:4318" }
        - { name: LAGGARD_ZIPKIN, value: "0.0.0.0:9411" }
        {{- else }}
        - { name: LAGGARD_OTLP_GRPC, value: "off" }
        - { name: LAGGARD_OTLP_HTTP, value: "off" }
        - { name: LAGGARD_ZIPKIN, value: "off" }
        {{- end }}
        # The image expects a single token.
        - { name: LAGGARD_TOKEN_FILE, value: "off" }
        {{- if eq .role "receive" }}
        # Each server has the prefix of its pod, whose volume has its log.
        - { name: LAGGARD_STORE_WRITER, valueFrom: { fieldRef: { fieldPath: metadata.name } } }
        {{- end }}
        {{- with $root.Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $root.Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - { name: http, containerPort: 4316 }
        {{- if eq .role "receive" }}
        - { name: otlp-grpc, containerPort: 4317 }
        - { name: otlp-http, containerPort: 4318 }
        - { name: zipkin, containerPort: 9411 }
        {{- end }}
      # A new server may wait for store.takeover_after until another one is known to be gone.
      startupProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 5, failureThreshold: 60 }
      livenessProbe: { httpGet: { path: /healthz, port: http }, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }
      readinessProbe: { httpGet: { path: /readyz, port: http }, periodSeconds: 5, timeoutSeconds: 5 }
      securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: [ALL] } }
      resources:
        {{- toYaml .of.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: config, mountPath: /etc/laggard, readOnly: true }
        {{- if not $root.Values.auth.insecure }}
        - { name: tokens, mountPath: /tokens, readOnly: true }
        {{- end }}
  volumes:
    - { name: config, configMap: { name: {{ include "laggard.name" $root }}-{{ .role }} } }
    {{- if not $root.Values.auth.insecure }}
    - { name: tokens, secret: { secretName: {{ required "auth.secret" $root.Values.auth.secret }} } }
    {{- end }}
  {{- with .of.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .of.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .of.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
