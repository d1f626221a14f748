import { parseAddress } from '../../../../../net/address.ts';
import { Fields } from '../reading/fields.ts';
import { imported, partsOf, type ImportedDocument, type Manifest, type SourceDocument, type Tool } from '../tool.ts';
import { kubeProxyFlags } from './arguments.ts';
import { heraldConfigOf } from './herald-config.ts';
import { SettingsReader } from './reader.ts';
import { configurationKind, flagsKind } from './settings.ts';

const isConfiguration = ({ raw }: SourceDocument): boolean =>
  partsOf(raw).group === 'kubeproxy.config.k8s.io' && partsOf(raw).kind === 'KubeProxyConfiguration';

/** Settings of kube-proxy become HeraldConfig/default, and options of the agents. */
export const kubeProxy: Tool = {
  name: 'kube-proxy',
  kinds: [configurationKind, flagsKind],
  recognises: (document) => isConfiguration(document) || kubeProxyFlags(document) !== undefined,
  translate: (documents) => withoutEqual(documents.map(translated)),
};

function translated(document: SourceDocument): ImportedDocument {
  if (isConfiguration(document)) {
    const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...written } = document.raw;
    return withOptions(document, Fields.of(configurationKind, written), 'configuration');
  }
  const flags = kubeProxyFlags(document) ?? {};
  const { config } = flags;
  if (config === undefined) return withOptions(document, Fields.of(flagsKind, flags), 'flags');
  const fields = Fields.of(flagsKind, { config });
  const file = fields.text('config') ?? '';
  fields.note(
    'config',
    `is ${file.slice(0, 200)}, a file beside which kube-proxy ignores most flags: nothing is written for the flags`,
    'import that file, or the ConfigMap that has it: kubectl -n kube-system get configmap kube-proxy -o yaml | herald import kube-proxy -',
  );
  return imported(document, fields, []);
}

function withOptions(document: SourceDocument, fields: Fields, from: 'configuration' | 'flags'): ImportedDocument {
  const settings = new SettingsReader(fields, from);
  const config = heraldConfigOf(settings);
  const ports =
    from === 'flags'
      ? { health: fields.number('healthz-port'), metrics: fields.number('metrics-port') }
      : { health: undefined, metrics: undefined };
  const options = [
    ...option('--healthz-bind-address', place(settings.text('healthzBindAddress'), 10_256, ports.health), '0.0.0.0:10256'),
    ...option('--metrics-address', metricsPlace(place(settings.text('metricsBindAddress'), 10_249, ports.metrics)), 'node:10290'),
  ];
  if (options.some((one) => one.startsWith('--metrics-address')))
    settings.note('metricsBindAddress', "is another address than kube-proxy's default", 'scrape port 10290: docs/how-to/monitoring.md');
  const result = imported(document, fields, config === undefined ? [] : [config]);
  return options.length === 0 ? result : { ...result, agentOptions: options };
}

const option = (name: string, value: string | undefined, standard: string): string[] =>
  value === undefined || value === standard ? [] : [`${name}=${value}`];

/** Returns ADDRESS:PORT, or none. Undefined: neither address nor port is set. */
function place(written: string | undefined, standardPort: number, port: number | undefined): string | undefined {
  if (port === 0) return 'none';
  if (written === undefined && port === undefined) return undefined;
  const text = written ?? '0.0.0.0';
  const alone = parseAddress(text.replace(/^\[|\]$/g, ''));
  if (!alone.ok) return text;
  const host = alone.value.family === 6 ? `[${text.replace(/^\[|\]$/g, '')}]` : text;
  return `${host}:${port ?? standardPort}`;
}

/** Port 10249 at loopback is the agent's already. Loopback itself is for programs on the node, so it needs no option. */
function metricsPlace(where: string | undefined): string | undefined {
  if (where === undefined || /^(?:127\.0\.0\.1|\[::1\]):10249$/.test(where)) return undefined;
  return where.replace(/:10249$/, ':10290');
}

/** The same settings in several places are one HeraldConfig. */
function withoutEqual(documents: readonly ImportedDocument[]): ImportedDocument[] {
  const all = documents.flatMap(({ manifests }) => manifests).map((one) => JSON.stringify(one));
  let index = 0;
  const isFirst = (one: Manifest): boolean => all.indexOf(JSON.stringify(one)) === index++;
  return documents.map((document) => ({ ...document, manifests: document.manifests.filter(isFirst) }));
}
