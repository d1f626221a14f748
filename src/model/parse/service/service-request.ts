import { defined } from '../../../lang/defined.ts';
import { formatAddress, parseAddressLeniently, sameAddress, type Address } from '../../../net/address.ts';
import { annotationPrefix, annotations, annotationTable } from '../../annotations.ts';
import { providerTables } from '../../provider-tables.ts';
import { limits } from '../../limits.ts';
import type { Labels } from '../../objects/metadata.ts';
import type { Service } from '../../objects/service.ts';
import { isLabelName, isSubdomainName } from '../../reading/metadata.ts';
import { closestName } from '../../../lang/closest-name.ts';
import type { FieldPath } from '../../reading/problem.ts';
import type { FieldReader } from '../../reading/fields.ts';

type Request = Pick<
  Service,
  'requestedAddresses' | 'requestedPool' | 'sharingKey' | 'sharingNamespaces' | 'keepsAddresses' | 'invalidRequest'
>;

/**
 * Reads the request of a Service to the allocator. The API server does not check these annotations, so a mistake must not stop the
 * Service's forwarding: it is recorded as `invalidRequest`, and only the address waits.
 */
export function readRequest(fields: FieldReader, spec: FieldReader, values: Labels): Request {
  let invalid: Service['invalidRequest'];
  const refuse = (path: FieldPath, field: string, problem: string, fix: string): void => {
    fields.partialProblem(path, problem, fix);
    invalid ??= { field, problem };
  };
  const refuseAnnotation = (name: string, problem: string, fix: string): void =>
    refuse(['metadata', 'annotations', name], name, problem, fix);

  const requested: Address[] = [];
  const add = (text: string, path: FieldPath, field: string): void => {
    const result = parseAddressLeniently(text);
    if (!result.ok) return refuse(path, field, `${JSON.stringify(text.slice(0, 60))}: ${result.problem}`, '');
    if (result.warning !== undefined) fields.warning(path, `${JSON.stringify(text)} ${result.warning}`, '');
    if (requested.some((before) => sameAddress(before, result.value)))
      return refuse(path, field, `asks for ${formatAddress(result.value)} twice`, 'remove one');
    requested.push(result.value);
  };

  const single = spec.text('loadBalancerIP') ?? '';
  const list = values[annotations.loadBalancerIPs] ?? '';
  if (single !== '') add(single, ['spec', 'loadBalancerIP'], 'spec.loadBalancerIP');
  if (single !== '' && list !== '') {
    refuseAnnotation(annotations.loadBalancerIPs, 'must not be set together with spec.loadBalancerIP', 'remove one of the two');
  } else if (list !== '') {
    const texts = list.split(',', limits.ingress + 1);
    if (texts.length > limits.ingress)
      refuseAnnotation(annotations.loadBalancerIPs, `asks for more than ${limits.ingress} addresses`, 'ask for fewer');
    const path = ['metadata', 'annotations', annotations.loadBalancerIPs];
    for (const text of texts.slice(0, limits.ingress)) add(text.trim(), path, annotations.loadBalancerIPs);
  }

  const pool = values[annotations.addressPool] ?? '';
  if (pool !== '' && !isSubdomainName(pool))
    refuseAnnotation(annotations.addressPool, 'is not the name of an IPAddressPool', 'write the name of a pool');
  const sharingKey = values[annotations.allowSharedIP] ?? '';
  const sharingNamespaces = readSharingNamespaces(values, (problem, fix) =>
    refuseAnnotation(annotations.allowSharedIPNamespaces, problem, fix),
  );
  const keeps = values[annotations.keepAddresses] ?? '';
  if (!['', 'true', 'false'].includes(keeps)) {
    const shown = JSON.stringify(keeps.slice(0, limits.shownValue));
    refuseAnnotation(annotations.keepAddresses, `is ${shown}`, 'write "true" or "false"');
  }
  warnOfUnknown(fields, values);
  return {
    requestedAddresses: invalid === undefined ? requested : [],
    ...(pool === '' ? {} : { requestedPool: pool }),
    ...(sharingKey === '' ? {} : { sharingKey }),
    sharingNamespaces,
    keepsAddresses: keeps === 'true',
    ...defined({ invalidRequest: invalid }),
  };
}

function readSharingNamespaces(values: Labels, refuse: (problem: string, fix: string) => void): string[] {
  const text = values[annotations.allowSharedIPNamespaces] ?? '';
  if (text === '') return [];
  const names = text.split(',', limits.names + 1).map((name) => name.trim());
  if (names.length > limits.names) refuse(`names more than ${limits.names} namespaces`, 'name fewer, or write *');
  const wrong = names.find((name) => name !== '*' && !isLabelName(name));
  if (wrong !== undefined)
    refuse(`${JSON.stringify(wrong.slice(0, limits.shownValue))} is not the name of a namespace`, 'write names, or *');
  return wrong === undefined ? [...new Set(names)].toSorted().slice(0, limits.names) : [];
}

function warnOfUnknown(fields: FieldReader, values: Labels): void {
  const known = Object.values(annotationTable).flatMap(({ name, on }) => (on === 'Service' ? [name] : []));
  const ofProviders = providerTables().flatMap(({ annotationPrefix: prefix }) => prefix ?? []);
  for (const name of Object.keys(values)) {
    if (!name.startsWith(annotationPrefix) || ofProviders.some((prefix) => name.startsWith(prefix)) || known.some((one) => one === name))
      continue;
    fields.warning(['metadata', 'annotations', name], 'is not an annotation of Herald', () => {
      const meant = closestName(name, known);
      return meant === undefined ? '' : `did you mean ${meant}?`;
    });
  }
}
