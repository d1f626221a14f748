import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { homepage } from '../homepage.ts';
import { chartReadme } from './chart-readme.ts';

const manifests = join(import.meta.dirname, '../../manifests');

/**
 * Returns the chart's files that repeat manifests/, by path below manifests/chart: CRDs, roles, monitoring, the
 * schema of the values and the README. The other templates, which have values to fill in, are written by hand. A test compares both with manifests/base.
 */
export function chartFiles(): ReadonlyMap<string, string> {
  return new Map([
    ['templates/crds.yaml', definitions()],
    ['templates/controller-rbac.yaml', roles('base/controller-rbac.yaml', 'controller')],
    ['templates/agent-rbac.yaml', roles('base/agent-rbac.yaml', 'agent')],
    ['templates/explain-rbac.yaml', roles('base/explain-rbac.yaml', 'explain')],
    ['templates/drain-rbac.yaml', roles('base/drain-rbac.yaml', 'drain')],
    ['templates/check-rbac.yaml', roles('base/check-rbac.yaml', 'check')],
    ['templates/flow-control.yaml', labelled('base/flow-control.yaml', labels())],
    ['templates/aws-rbac.yaml', where('.Values.aws.clusterName', roles('overlays/aws/controller-rbac.yaml', 'controller'))],
    ['templates/metallb-rbac.yaml', where('.Values.metallb.enabled', metallb())],
    ['templates/monitoring.yaml', where('.Values.monitoring.enabled', monitoring())],
    ['values.schema.json', valuesSchema()],
    ['README.md', chartReadme()],
    ['files/dashboard.json', readFileSync(join(manifests, 'monitoring/dashboard.json'), 'utf8')],
  ]);
}

const origin = (from: string): string => `{{- /* Written by npm run generate from manifests/${from}. */ -}}\n`;

function definitions(): string {
  const files = readdirSync(join(manifests, 'crds')).filter((file) => file !== 'kustomization.yaml');
  const documents = files.map((file) => {
    const text = literal(readFileSync(join(manifests, 'crds', file), 'utf8'));
    const keep = annotations('(ternary (dict "helm.sh/resource-policy" "keep") dict $.Values.crds.keep)');
    return text.replace(/^metadata:\n/m, () => `metadata:\n  ${labels()}\n  ${keep}\n`);
  });
  return where('.Values.crds.enabled', origin('crds') + documents.join('---\n'));
}

function roles(file: string, component: string): string {
  return labelled(file, labels(component)).replaceAll(
    /^(kind: ServiceAccount\nmetadata:\n  labels: .*\n)  .*\n/gm,
    (_, begin) => `${begin}  ${annotations(`.Values.${component}.serviceAccount.annotations`)}\n`,
  );
}

/** `own`: the annotations of the object itself, as an expression of a template. */
function annotations(own?: string): string {
  const parts = own === undefined ? '"root" $' : `"root" $ "own" ${own}`;
  return `{{- with include "herald.annotations" (dict ${parts}) }}{{ . | nindent 2 }}{{ end }}`;
}

/** Without a component: labels of an object that belongs to all of Herald. */
function labels(component?: string): string {
  const parts = component === undefined ? '"root" $' : `"root" $ "component" "${component}"`;
  return `labels: {{- include "herald.labels" (dict ${parts}) | nindent 4 }}`;
}

/** Returns the objects of a file with these labels, in the namespace of the release. */
function labelled(file: string, labels: string): string {
  return (
    origin(file) +
    literal(readFileSync(join(manifests, file), 'utf8'))
      .replaceAll(/namespaces?: \[?herald-system\]?/g, (text) => text.replace('herald-system', '{{ $.Release.Namespace }}'))
      .replaceAll(/^metadata:\n/gm, () => `metadata:\n  ${labels}\n  ${annotations()}\n`)
  );
}

function metallb(): string {
  return roles('components/metallb/metallb-rbac.yaml', 'controller').replaceAll(
    'namespace: metallb-system',
    'namespace: {{ .Values.metallb.namespace }}',
  );
}

/**
 * The user chooses the labels by which the Prometheus operator selects objects, and the address of the runbooks. The dashboard contains
 * braces that are not templates, so it is read as a file.
 */
function monitoring(): string {
  const labels = (further: string): string =>
    `  labels:\n    {{- include "herald.labels" (dict "root" $) | nindent 4 }}\n    {{- with .Values.monitoring.labels }}{{ toYaml . | nindent 4 }}{{ end }}\n${further}  ${annotations()}\n`;
  const objects = ['monitoring/pod-monitors.yaml', 'monitoring/prometheus-rule.yaml'].map((file) =>
    literal(readFileSync(join(manifests, file), 'utf8'))
      .replaceAll('namespace: herald-system', 'namespace: {{ $.Release.Namespace }}')
      .replaceAll(/^  labels: .*\n/gm, () => labels(''))
      .replaceAll(`runbook_url: ${homepage}/docs/`, 'runbook_url: {{ $.Values.monitoring.runbooks }}docs/'),
  );
  const dashboard = `apiVersion: v1
kind: ConfigMap
metadata:
  name: herald-dashboard
  namespace: {{ $.Release.Namespace }}
${labels(`    grafana_dashboard: '1'\n`)}data:
  herald.json: |
    {{- .Files.Get "files/dashboard.json" | nindent 4 }}
`;
  return origin('monitoring') + [...objects, dashboard].join('---\n');
}

/** Returns the schema of the values, with the one of HeraldConfig for config.spec, so that Helm refuses a field before anything is installed. */
function valuesSchema(): string {
  const schema = JSON.parse(readFileSync(join(import.meta.dirname, 'values.schema.json'), 'utf8')) as { definitions: object };
  const config = JSON.parse(readFileSync(join(manifests, 'schema/herald.dev/heraldconfig_v1alpha1.json'), 'utf8')) as {
    readonly properties: { readonly spec: object };
  };
  const configSpec = { ...config.properties.spec, required: ['services'] };
  return `${JSON.stringify({ ...schema, definitions: { ...schema.definitions, configSpec } }, null, 2)}\n`;
}

function where(condition: string, text: string): string {
  return `{{- if ${condition} }}\n${text}{{- end }}\n`;
}

/** Escapes braces, so that Helm does not take them for templates. */
function literal(text: string): string {
  return text.replaceAll(/\{\{|\}\}/g, (braces) => `{{ ${JSON.stringify(braces)} }}`);
}
