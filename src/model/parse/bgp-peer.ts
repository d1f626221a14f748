import { formatAddress, isLinkLocal, parseAddress, type Address } from '../../net/address.ts';
import { parsed, refused, type Parsed } from '../../net/parsed.ts';
import type { BGPPeer } from '../configuration.ts';
import { limits } from '../limits.ts';
import type { NamespacedName } from '../metadata.ts';
import { parseWholeSeconds } from './duration.ts';
import { readMetadata } from './metadata.ts';
import type { Fields } from './fields.ts';
import type { ParseOptions, Read } from './result.ts';
import { readSelectors } from './selector.ts';
import { specialAddress } from './special-address.ts';

const maxASN = 4_294_967_295;
const asTrans = 23_456;

/** Fields and defaults are MetalLB's (v1beta2), except that peerPort may be any port. */
export function readBGPPeer(fields: Fields, options: ParseOptions): Read<BGPPeer> {
  const metadata = readMetadata(fields, 'BGPPeer', 'cluster', options);
  const spec = fields.object('spec');
  const asns = readASNs(spec);
  const addresses = readAddresses(spec);
  const peerPort = spec.integer('peerPort', 1, 65_535) ?? 179;
  const timers = readTimers(spec);
  const nodeSelectors = readSelectors(spec, 'nodeSelectors');
  const authentication = readPassword(spec);
  const ebgpMultiHop = spec.boolean('ebgpMultiHop') ?? false;
  if (ebgpMultiHop) checkMultiHop(spec, asns, addresses);
  const ttlSecurityHops = spec.integer('ttlSecurityHops', 0, 254) ?? 0;
  if (ttlSecurityHops > 0 && ebgpMultiHop) {
    spec.problem(
      'ttlSecurityHops',
      'stands beside ebgpMultiHop',
      'remove ebgpMultiHop: a peer that is further away has more ttlSecurityHops',
    );
  }
  const enableGracefulRestart = spec.boolean('enableGracefulRestart') ?? false;
  const passive = spec.boolean('passive') ?? false;
  const dualStackAddressFamily = spec.boolean('dualStackAddressFamily') ?? false;
  const adminDown = spec.boolean('adminDown') ?? false;
  const shutdownMessage = spec.text('shutdownMessage') ?? '';
  if (Buffer.byteLength(shutdownMessage) > limits.shutdownMessageBytes) {
    spec.problem('shutdownMessage', `is longer than ${limits.shutdownMessageBytes} octets (RFC 9003)`, 'shorten it');
  }
  if (spec.boolean('disableMP') === true) {
    spec.problem('disableMP', 'has no meaning here: a session carries the address families that it was given', 'remove disableMP');
  }
  spec.unsupported('bfdProfile', 'vrf');
  fields.raw('status');
  if (metadata === undefined || addresses === undefined) return {};
  return {
    object: {
      kind: 'BGPPeer',
      metadata,
      ...asns,
      ...addresses,
      peerPort,
      ...timers,
      nodeSelectors,
      ...authentication,
      ebgpMultiHop,
      ...(ttlSecurityHops === 0 ? {} : { ttlSecurityHops }),
      enableGracefulRestart,
      dualStackAddressFamily,
      passive,
      adminDown,
      ...(shutdownMessage === '' ? {} : { shutdownMessage }),
    },
  };
}

type ASNs = Pick<BGPPeer, 'myASN' | 'peerASN' | 'dynamicASN' | 'localASN'>;

/** 0 is reserved (RFC 7607); in peerASN and localASN it is the field's zero value and means that it is not written. */
function readASNs(spec: Fields): ASNs {
  spec.require('myASN', 'write the AS number of the nodes');
  const myASN = spec.integer('myASN', 1, maxASN) ?? 0;
  const peerASN = spec.integer('peerASN', 0, maxASN) || undefined;
  const localASN = spec.integer('localASN', 0, maxASN) || undefined;
  for (const name of ['myASN', 'peerASN', 'localASN']) {
    if (spec.raw(name) === asTrans)
      spec.problem(name, 'is AS_TRANS, which stands for AS numbers above 65535 (RFC 6793)', 'write the real AS number');
  }
  const dynamicASN = spec.oneOf('dynamicASN', ['internal', 'external']);
  const written = Number(spec.has('peerASN') && spec.raw('peerASN') !== 0) + Number(spec.has('dynamicASN'));
  if (written === 0) spec.problem('peerASN', 'is required', 'write the AS number of the peer, or dynamicASN: internal or external');
  if (written === 2) spec.problem('dynamicASN', 'stands beside peerASN', 'remove one of the two');
  if (localASN !== undefined && isInternal({ myASN, peerASN, dynamicASN })) {
    spec.problem('localASN', 'is for external sessions, and this one is internal', 'remove localASN');
  }
  if (localASN !== undefined && localASN === peerASN) {
    spec.problem('localASN', 'is the AS number of the peer', 'write another one, or myASN alone for an internal session');
  }
  return {
    myASN,
    ...(peerASN === undefined ? {} : { peerASN }),
    ...(dynamicASN === undefined ? {} : { dynamicASN }),
    ...(localASN === undefined ? {} : { localASN }),
  };
}

function isInternal({ myASN, peerASN, dynamicASN }: { [F in keyof ASNs]: ASNs[F] | undefined }): boolean {
  return dynamicASN === 'internal' || peerASN === myASN;
}

function checkMultiHop(spec: Fields, asns: ASNs, addresses: Addresses | undefined): void {
  if (isInternal(asns)) spec.problem('ebgpMultiHop', 'is for external sessions, and this one is internal', 'remove ebgpMultiHop');
  if (addresses === undefined || (addresses.peerAddress !== undefined && !isLinkLocal(addresses.peerAddress))) return;
  spec.problem('ebgpMultiHop', 'is for peers behind another router, and this one is on the link', 'remove ebgpMultiHop');
}

type Addresses = Pick<BGPPeer, 'peerAddress' | 'interface' | 'sourceAddress' | 'routerID'>;

function readAddresses(spec: Fields): Addresses | undefined {
  const networkInterface = spec.parsed('interface', parseInterface);
  if (!spec.has('interface') || spec.raw('interface') === '') {
    spec.require('peerAddress', 'write the address of the router, or interface for an unnumbered session');
  }
  const peerAddress = spec.parsed('peerAddress', parseAddress);
  const sourceAddress = spec.parsed('sourceAddress', parseAddress);
  const routerID = spec.parsed('routerID', parseAddress);
  if (peerAddress !== undefined && isLinkLocal(peerAddress)) {
    spec.require('interface', 'name the network interface of the node that this link-local peerAddress is on');
  } else if (peerAddress !== undefined) {
    refuseSpecial(spec, 'peerAddress', peerAddress);
  }
  if (peerAddress === undefined && networkInterface !== undefined && sourceAddress?.family === 4) {
    spec.problem('sourceAddress', 'is IPv4, but an unnumbered session runs over IPv6', 'remove sourceAddress');
  }
  if (peerAddress !== undefined && sourceAddress !== undefined && peerAddress.family !== sourceAddress.family) {
    spec.problem(
      'sourceAddress',
      `is IPv${sourceAddress.family}, but peerAddress is IPv${peerAddress.family}`,
      'use addresses of one family',
    );
  }
  if (routerID !== undefined && (routerID.family !== 4 || routerID.value === 0n)) {
    spec.problem('routerID', 'must be an IPv4 address other than 0.0.0.0 (RFC 6286)', '');
  }
  if (peerAddress === undefined && networkInterface === undefined) return undefined;
  return {
    ...(peerAddress === undefined ? {} : { peerAddress }),
    ...(networkInterface === undefined ? {} : { interface: networkInterface }),
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
    ...(routerID === undefined ? {} : { routerID }),
  };
}

/** A loopback peer is allowed: a router on the same host. */
function refuseSpecial(spec: Fields, name: string, address: Address): void {
  const special = specialAddress(address);
  if (special === undefined || special.includes('loopback')) return;
  spec.problem(name, `${formatAddress(address)} is ${special}`, '');
}

/** What Linux takes (dev_valid_name). */
function parseInterface(text: string): Parsed<string> {
  if (/^[^\s:/]{1,15}$/.test(text) && text !== '.' && text !== '..') return parsed(text);
  return refused('no name of a network interface: up to 15 characters without space, colon and slash');
}

const holdTimes = '0s, or from 3s to 65535s';
const connectTimes = 'from 1s to 65535s';

/** RFC 4271 4.2 and 4.4: hold time 0 or at least three seconds, keepalives at a third of it; 0 turns both off. */
function readTimers(spec: Fields): Pick<BGPPeer, 'holdTimeSeconds' | 'keepaliveTimeSeconds' | 'connectTimeSeconds'> {
  const hold = readSeconds(spec, 'holdTime', holdTimes);
  const keepalive = readSeconds(spec, 'keepaliveTime', 'from 1s up to holdTime');
  const connect = readSeconds(spec, 'connectTime', connectTimes);
  const holdTimeSeconds = hold ?? (keepalive === undefined ? 90 : keepalive * 3);
  const keepaliveTimeSeconds = keepalive ?? Math.floor(holdTimeSeconds / 3);
  if ((holdTimeSeconds !== 0 && holdTimeSeconds < 3) || holdTimeSeconds > 65_535) {
    spec.problem(
      hold === undefined ? 'keepaliveTime' : 'holdTime',
      `makes a hold time of ${holdTimeSeconds}s; it must be ${holdTimes}`,
      'write for example holdTime: 90s',
    );
  }
  if (keepaliveTimeSeconds > holdTimeSeconds) spec.problem('keepaliveTime', 'is longer than holdTime', 'a third of holdTime is usual');
  if (keepaliveTimeSeconds === 0 && holdTimeSeconds > 0)
    spec.problem('keepaliveTime', 'is 0, so that the hold timer of the peer would expire', 'write a third of holdTime');
  if (connect !== undefined && (connect < 1 || connect > 65_535)) spec.problem('connectTime', `must be ${connectTimes}`, '');
  return { holdTimeSeconds, keepaliveTimeSeconds, ...(connect === undefined ? {} : { connectTimeSeconds: connect }) };
}

/** A number without a unit is the usual mistake, and what is allowed is said with it: else the next attempt is a guess too. */
function readSeconds(spec: Fields, name: string, allowed: string): number | undefined {
  const written = spec.raw(name);
  if (typeof written === 'number') {
    spec.problem(
      name,
      `must be a duration with its unit, ${allowed}, not ${written}`,
      `write for example ${name}: ${Math.max(written, 3)}s`,
    );
    return undefined;
  }
  return spec.parsed(name, (text) => {
    const seconds = parseWholeSeconds(text);
    return seconds.ok ? seconds : refused(`${seconds.problem}; it must be ${allowed}`);
  });
}

function readPassword(spec: Fields): { readonly password?: string; readonly passwordSecret?: NamespacedName } {
  const password = spec.secretText('password') ?? '';
  if (Buffer.byteLength(password) > limits.passwordBytes)
    spec.problem('password', `is longer than ${limits.passwordBytes} octets`, 'shorten it');
  const secret = spec.object('passwordSecret');
  const name = secret.text('name') ?? '';
  const namespace = secret.text('namespace') ?? '';
  if (name === '' && namespace === '') return password === '' ? {} : { password };
  secret.require('name', 'name the Secret');
  secret.require('namespace', 'write the namespace of the Secret');
  if (password !== '') spec.problem('passwordSecret', 'stands beside password', 'remove one of the two');
  return { passwordSecret: { namespace, name } };
}
