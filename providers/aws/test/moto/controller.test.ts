import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { defined } from '../../../../src/lang/defined.ts';
import { until } from '../../../../test/lab/until.ts';
import { DirectoryFixture } from './directory-fixture.ts';
import type { AccountState } from './scenarios/account-state.ts';

interface Manifest {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: { readonly ports: readonly object[]; readonly [field: string]: unknown };
}

interface Example {
  readonly name: string;
  readonly service: Manifest;
  readonly becomes: {
    readonly kind: 'nlb' | 'classic';
    readonly listeners: readonly Readonly<Record<string, unknown>>[];
    readonly targetGroups?: readonly Readonly<Record<string, unknown>>[];
    readonly healthCheck?: { readonly target: string };
  };
}

const { examples } = parse(readFileSync(join(import.meta.dirname, 'aws-examples.yaml'), 'utf8')) as {
  readonly examples: readonly Example[];
};

let fixture: DirectoryFixture;
beforeEach(async () => {
  fixture = await DirectoryFixture.start();
});
afterEach(() => fixture.stop());

const start = (): Promise<void> => fixture.startController({ options: ['--aws-classless=classic'] });

/** Writes Services to the directory. Their certificate ARNs are replaced by that of this account. */
function put(file: string, services: readonly Manifest[]): void {
  const withDefaults = services.map((service, index) => {
    const text = JSON.stringify(service).replaceAll(/arn:aws:acm:[^",]*/g, fixture.account.certificates.web);
    const { metadata, spec, ...rest } = JSON.parse(text) as Manifest;
    return { apiVersion: 'v1', kind: 'Service', ...rest, metadata, spec: { clusterIP: `10.96.0.${20 + index}`, ...spec } };
  });
  fixture.write(file, withDefaults);
}

const look = (): Promise<AccountState> => fixture.accountState();
const hostname = (key: string): string => fixture.hostname(key);

const byPort = (a: Readonly<Record<string, unknown>>, b: Readonly<Record<string, unknown>>): number =>
  Number(a['port']) - Number(b['port']);

/** Describes the AWS account in the terms of aws-examples.yaml. */
function described({ nlbs, classic }: AccountState): Example['becomes'] {
  const [nlb] = nlbs;
  const [balancer] = classic;
  if (nlb !== undefined) {
    const groups = nlb.listeners.flatMap(({ targetGroup }) => targetGroup ?? []);
    return {
      kind: 'nlb',
      listeners: nlb.listeners.map(({ port, protocol, certificate }) => ({
        port,
        protocol,
        ...(certificate === undefined ? {} : { certificate: true }),
      })),
      targetGroups: groups
        .map(({ protocol, port, targetType, healthCheck }) => ({
          protocol,
          port,
          targetType,
          healthCheck: { ...healthCheck, port: healthCheck.port === 'traffic-port' ? healthCheck.port : Number(healthCheck.port) },
        }))
        .toSorted(byPort),
    };
  }
  return {
    kind: 'classic',
    listeners: (balancer?.listeners ?? []).map(({ port, protocol, instancePort, instanceProtocol, certificate }) => ({
      port,
      protocol,
      instancePort,
      instanceProtocol,
      ...(certificate === undefined ? {} : { certificate: true }),
    })),
    healthCheck: { target: balancer?.healthCheck ?? '' },
  };
}

function expected({ kind, listeners, targetGroups, healthCheck }: Example['becomes']): Example['becomes'] {
  return {
    kind,
    listeners: listeners.toSorted(byPort),
    ...(targetGroups === undefined ? {} : { targetGroups: targetGroups.toSorted(byPort) }),
    ...defined({ healthCheck }),
  };
}

describe('a controller with a directory, against moto', () => {
  test.each(examples.map((example) => [example.name, example] as const))(
    '%s becomes the load balancer in aws-examples.yaml',
    async (_, example) => {
      put('service.yaml', [example.service]);
      await start();
      await until(
        'AWS has what is written',
        async (note) => {
          expect(note(described(await look()))).toEqual(expected(example.becomes));
          return true;
        },
        60_000,
      );
      const { namespace, name } = example.service.metadata;
      await until(
        'the status has the host name',
        async (note) => {
          const { nlbs, classic } = await look();
          return note(hostname(`${namespace}/${name}`)) === (nlbs[0] ?? classic[0])?.dnsName;
        },
        60_000,
      );
    },
  );

  test('all of examples/aws become usable, and are deleted completely', async () => {
    const files = ['20-nlb-certificate', '30-classic-https', '40-local', '50-shared'];
    const services = files.flatMap((file) =>
      parseAllDocuments(readFileSync(join(import.meta.dirname, `../../../../examples/aws/${file}.yaml`), 'utf8')).map(
        (document) => document.toJS() as Manifest,
      ),
    );
    // In a directory no API server assigns node ports.
    let port = 31_000;
    const chosen = services.map(({ spec, ...rest }) => ({
      ...rest,
      spec: {
        ...spec,
        ports: spec.ports.map((one) => ({ ...one, nodePort: port++ })),
        ...(spec['externalTrafficPolicy'] === 'Local' ? { healthCheckNodePort: port++ } : {}),
      },
    }));
    put('services.yaml', chosen);
    await start();
    await until(
      'every Service has its host name',
      (note) => note(chosen.map(({ metadata }) => hostname(`default/${metadata.name}`))).every((name) => name !== ''),
      60_000,
    );
    const { nlbs, classic } = await look();
    expect(nlbs.map(({ listeners }) => listeners.map(({ port, protocol }) => `${port}/${protocol}`).join(' ')).toSorted()).toEqual([
      '1883/TCP 5683/UDP',
      '80/TCP 443/TLS',
      '8443/TCP',
    ]);
    expect(classic.map(({ listeners }) => listeners.map(({ port, protocol }) => `${port}/${protocol}`).join(' '))).toEqual([
      '80/HTTP 443/HTTPS',
    ]);
    expect(hostname('default/mqtt')).toBe(hostname('default/coap'));
    rmSync(join(fixture.directory, 'services.yaml'));
    await until(
      'nothing is left',
      async (note) => {
        const picture = note(await look());
        const groups = Object.keys(picture.securityGroups).filter((name) => !name.startsWith('herald-backend-'));
        return [...picture.nlbs, ...picture.looseTargetGroups, ...picture.classic, ...groups].length === 0;
      },
      60_000,
    );
  });
});
