import { defined } from '../../../../src/lang/defined.ts';
import { reason } from '../../../../src/model/reasons.ts';
import type { Service, ServicePort } from '../../../../src/model/objects/service.ts';
import { annotationTable, type AnnotationName, type AnnotationValues } from '../../annotations/table.ts';
import type { AwsSettings } from '../../model/settings.ts';
import { findCertificates } from './certificates.ts';
import type { Facts } from '../../model/facts.ts';
import type { Issues } from '../../model/issues.ts';

export type BackendProtocol = 'tcp' | 'ssl' | 'http' | 'https';

/** The encryption of one port, for both kinds of load balancer. */
export interface PortEncryption {
  /** The first is the default. Empty: the load balancer does not encrypt the port. */
  readonly certificates: readonly string[];
  /** Absent: the Service does not set a backend protocol. */
  readonly backend?: BackendProtocol;
}

/**
 * Reads ssl-cert, ssl-ports and backend-protocol, which apply to all ports as in upstream, and the annotations for single ports. UDP ports
 * never get certificates.
 */
export function portEncryption(
  service: Service,
  values: AnnotationValues,
  facts: Facts,
  settings: AwsSettings,
  issues: Issues,
): (port: ServicePort) => PortEncryption {
  const general = generalCertificates(values, facts, settings, issues);
  const selected = selectedPorts(service, values, general.length > 0, issues);
  const certificates = ofPorts(service, 'certificateOfPort', values.certificateOfPort, issues);
  const backends = ofPorts(service, 'backendProtocolOfPort', values.backendProtocolOfPort, issues);
  warnAboutPlainText(values, issues);
  return (port) => {
    const own = certificates.get(port);
    const backend = backends.get(port) ?? values.backendProtocol;
    const applies = port.protocol !== 'UDP' && (selected.all || selected.named.has(port));
    return { certificates: own ?? (applies ? general : []), ...defined({ backend }) };
  };
}

function generalCertificates(values: AnnotationValues, facts: Facts, settings: AwsSettings, issues: Issues): readonly string[] {
  const { certificates, certificateHosts } = values;
  if (certificateHosts === undefined) return [...new Set(certificates)];
  if (certificates !== undefined) {
    const what = `${annotationTable.certificateHosts.key} and ${annotationTable.certificates.key} exclude each other`;
    issues.error(reason('AwsSettingsConflict', { what }));
  }
  if (facts.certificatesRefused !== undefined) {
    issues.error(facts.certificatesRefused);
    return [];
  }
  if (settings.certificateDiscovery) return findCertificates(certificateHosts, facts.certificates, issues);
  issues.error(reason('AwsCertificateDiscoveryOff', undefined));
  return [];
}

/** Warns about TLS annotations without a certificate. They have no effect, but the user may believe that traffic is encrypted. */
function warnAboutPlainText(values: AnnotationValues, issues: Issues): void {
  const { certificates, certificateHosts, certificateOfPort, backendProtocol, backendProtocolOfPort } = values;
  if (certificates !== undefined || certificateHosts !== undefined || certificateOfPort.size > 0) return;
  const encrypts = (backend: BackendProtocol | undefined): boolean => backend === 'ssl' || backend === 'https';
  const keys = [
    ...(values.sslPorts === undefined ? [] : [annotationTable.sslPorts.key]),
    ...(values.sslPolicy === undefined ? [] : [annotationTable.sslPolicy.key]),
    ...((values.alpnPolicy ?? 'None') === 'None' ? [] : [annotationTable.alpnPolicy.key]),
    ...(encrypts(backendProtocol) ? [annotationTable.backendProtocol.key] : []),
    ...[...backendProtocolOfPort]
      .filter(([, backend]) => encrypts(backend))
      .map(([port]) => `${annotationTable.backendProtocolOfPort.key}.${port}`),
  ];
  if (keys.length > 0) issues.warn(reason('AwsCertificateMissing', { keys: keys.join(', ') }));
}

interface SelectedPorts {
  readonly all: boolean;
  readonly named: ReadonlySet<ServicePort>;
}

function selectedPorts(service: Service, values: AnnotationValues, certificates: boolean, issues: Issues): SelectedPorts {
  const items = values.sslPorts;
  if (items === undefined || items.includes('*')) return { all: true, named: new Set() };
  const named = new Set<ServicePort>();
  for (const item of items) {
    const found = portsNamed(service, item).filter(({ protocol }) => protocol !== 'UDP');
    if (found.length === 0) issues.error(reason('AwsSslPortUnknown', { key: annotationTable.sslPorts.key, port: item }));
    for (const port of found) named.add(port);
  }
  return certificates ? { all: false, named } : { all: false, named: new Set() };
}

function ofPorts<T>(service: Service, name: AnnotationName, written: ReadonlyMap<string, T>, issues: Issues): Map<ServicePort, T> {
  const result = new Map<ServicePort, T>();
  for (const [member, value] of written) {
    const found = portsNamed(service, member).filter(({ protocol }) => protocol !== 'UDP');
    if (found.length === 0) issues.error(reason('AwsSslPortUnknown', { key: `${annotationTable[name].key}.${member}`, port: member }));
    for (const port of found) result.set(port, value);
  }
  return result;
}

/**
 * Returns what annotations say of each port: one for the whole Service, and those of single ports (`KEY.PORT`), which count before it. Each with
 * the annotation that says so. Reports annotations for ports that the Service does not have.
 */
export function valuesOfPorts<T>(
  service: Service,
  key: string,
  whole: T | undefined,
  ofPorts: ReadonlyMap<string, T>,
  issues: Issues,
): Map<ServicePort, { readonly key: string; readonly value: T }> {
  const result = new Map<ServicePort, { readonly key: string; readonly value: T }>();
  if (whole !== undefined) for (const port of service.ports) result.set(port, { key, value: whole });
  for (const [member, value] of ofPorts) {
    const found = portsNamed(service, member);
    if (found.length === 0) issues.error(reason('AwsSslPortUnknown', { key: `${key}.${member}`, port: member }));
    for (const port of found) result.set(port, { key: `${key}.${member}`, value });
  }
  return result;
}

/** Finds ports of the Service by number, or by name in upper or lower case. */
export function portsNamed(service: Service, text: string): ServicePort[] {
  return indexOf(service.ports).get(text.toLowerCase()) ?? [];
}

const indexes = new WeakMap<Service['ports'], ReadonlyMap<string, ServicePort[]>>();

/** Returns the ports by number and by name. Made once for each Service: there may be a thousand ports, and as many annotations that name them. */
function indexOf(ports: Service['ports']): ReadonlyMap<string, ServicePort[]> {
  const known = indexes.get(ports);
  if (known !== undefined) return known;
  const index = new Map<string, ServicePort[]>();
  for (const port of ports)
    for (const text of new Set([`${port.port}`, port.name.toLowerCase()]))
      if (text !== '') index.set(text, [...(index.get(text) ?? []), port]);
  indexes.set(ports, index);
  return index;
}
