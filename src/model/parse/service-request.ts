import { formatAddress, parseAddressLeniently, type Address } from '../../net/address.ts';
import { annotationPrefix, annotations } from '../annotations.ts';
import type { Labels } from '../metadata.ts';
import type { Service } from '../service.ts';
import { isSubdomainName } from './metadata.ts';
import { nearest } from './nearest.ts';
import type { FieldPath } from './problem.ts';
import type { Fields } from './fields.ts';

type Request = Pick<Service, 'requestedAddresses' | 'requestedPool' | 'sharingKey' | 'invalidRequest'>;

/**
 * What a Service asks of the allocator. The API server checks none of it, so a mistake here must not take the Service's
 * forwarding down: it is noted as `invalidRequest`, and only the address waits.
 */
export function readRequest(fields: Fields, spec: Fields, values: Labels): Request {
  let invalid: Service['invalidRequest'];
  const refuse = (path: FieldPath, field: string, problem: string, fix: string): void => {
    fields.partialProblem(path, problem, fix);
    invalid ??= { field, problem };
  };
  const annotation = (name: string): FieldPath => ['metadata', 'annotations', name];

  const requested: Address[] = [];
  const add = (text: string, path: FieldPath, field: string): void => {
    const result = parseAddressLeniently(text);
    if (!result.ok) return refuse(path, field, `${JSON.stringify(text.slice(0, 60))}: ${result.problem}`, '');
    if (result.warning !== undefined) fields.warning(path, `${JSON.stringify(text)} ${result.warning}`, '');
    const before = requested.find(({ family }) => family === result.value.family);
    if (before !== undefined) {
      return refuse(
        path,
        field,
        `asks for ${formatAddress(before)} and ${formatAddress(result.value)}`,
        'ask for at most one address of each family',
      );
    }
    requested.push(result.value);
  };

  const single = spec.text('loadBalancerIP') ?? '';
  const list = values[annotations.loadBalancerIPs] ?? '';
  if (single !== '') add(single, ['spec', 'loadBalancerIP'], 'spec.loadBalancerIP');
  if (single !== '' && list !== '') {
    refuse(
      annotation(annotations.loadBalancerIPs),
      annotations.loadBalancerIPs,
      'stands beside spec.loadBalancerIP',
      'remove one of the two',
    );
  } else if (list !== '') {
    for (const text of list.split(',', 8)) add(text.trim(), annotation(annotations.loadBalancerIPs), annotations.loadBalancerIPs);
  }

  const pool = values[annotations.addressPool] ?? '';
  if (pool !== '' && !isSubdomainName(pool)) {
    refuse(annotation(annotations.addressPool), annotations.addressPool, 'is not the name of an IPAddressPool', 'write the name of a pool');
  }
  const sharingKey = values[annotations.allowSharedIP] ?? '';
  warnOfUnknown(fields, values);
  return {
    requestedAddresses: invalid === undefined ? requested : [],
    ...(pool === '' ? {} : { requestedPool: pool }),
    ...(sharingKey === '' ? {} : { sharingKey }),
    ...(invalid === undefined ? {} : { invalidRequest: invalid }),
  };
}

function warnOfUnknown(fields: Fields, values: Labels): void {
  const known: readonly string[] = Object.values(annotations);
  for (const name of Object.keys(values)) {
    if (!name.startsWith(annotationPrefix) || known.includes(name)) continue;
    const meant = nearest(name, known);
    fields.warning(
      ['metadata', 'annotations', name],
      'is not an annotation of Herald',
      meant === undefined ? '' : `did you mean ${meant}?`,
    );
  }
}
