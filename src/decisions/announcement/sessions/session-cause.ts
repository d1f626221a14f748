import { reason, type Reason } from '../../../model/reasons.ts';
import type { SessionFacts } from './session-facts.ts';

/** The evidence that the BGP speaker has of why a session is down. The speaker's own type has the same shape. */
export type SessionEvidence =
  | { readonly kind: 'local'; readonly detail: string }
  | { readonly kind: 'noVrf' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'unreachable'; readonly detail: string }
  | { readonly kind: 'noOpen' }
  | { readonly kind: 'holdTimer'; readonly by: 'us' | 'peer'; readonly seconds?: number }
  | { readonly kind: 'stalled' }
  | { readonly kind: 'pathLost' }
  | { readonly kind: 'closed'; readonly detail: string }
  | { readonly kind: 'refused'; readonly atOnce: boolean }
  | { readonly kind: 'dropped'; readonly finding: 'wrongSignature' | 'noSignature' | 'unexpectedSignature' | 'lowTtl' }
  | { readonly kind: 'asn'; readonly by: 'us' | 'peer'; readonly said?: number }
  | { readonly kind: 'routerId'; readonly by: 'us' | 'peer'; readonly detail: string }
  | { readonly kind: 'holdTime'; readonly by: 'us' | 'peer'; readonly detail: string }
  | { readonly kind: 'families'; readonly by: 'us' | 'peer'; readonly detail: string }
  | { readonly kind: 'cease'; readonly subcode: number; readonly name: string; readonly text?: string }
  | { readonly kind: 'protocol'; readonly by: 'us' | 'peer'; readonly name: string; readonly detail: string; readonly isNoBgp?: true };

/** The first cause of an outage and its latest symptom, as the speaker reports them. */
export interface SessionOutage {
  readonly evidence: SessionEvidence;
  /** RFC 3339. */
  readonly since: string;
  readonly latest?: string;
  /** The session was established with its present settings. */
  readonly wasEstablished: boolean;
  /** Our address in the session, if the speaker knows it. */
  readonly local?: string;
  /** Why BFD is down. Absent: unknown, or BFD is up or not used. */
  readonly bfdReason?: string;
}

/** Cease / BFD Down (RFC 9384). */
const ceaseBfdDown = 10;

/** Returns why a session is down, with the fields and lines to change. Undefined: the evidence concerns this host only. */
export function sessionCause(outage: SessionOutage, facts: SessionFacts): Reason | undefined {
  const { evidence, since, latest = '', wasEstablished, bfdReason } = outage;
  const { peer, router, port, localASN } = facts;
  const common = { peer, router, local: outage.local ?? facts.local, since, latest };
  switch (evidence.kind) {
    case 'local':
      return undefined;
    case 'noVrf':
      return reason('PeerVRFMissing', { peer, vrf: facts.vrf });
    case 'silent':
      return unreachable('connection attempts time out');
    case 'unreachable':
      return unreachable(evidence.detail);
    case 'noOpen':
      return unreachable('it takes the connection and then sends nothing');
    case 'holdTimer':
      return reason('HoldTimeExpired', { ...common, kind: evidence.by, seconds: evidence.seconds ?? 0 });
    case 'stalled':
      return reason('HoldTimeExpired', { ...common, kind: 'stalled', seconds: 0 });
    case 'pathLost':
      return bfdDown(bfdReason ?? 'the path was lost');
    case 'closed':
      return reason('PeerClosed', { ...common, subcode: 0, why: `the connection ended (${evidence.detail})`, localASN });
    case 'refused':
      return reason('PeerRefusesConnection', { ...common, port, localASN, atOnce: evidence.atOnce });
    case 'dropped':
      if (evidence.finding === 'lowTtl') return reason('PeerTTLMismatch', { ...common, hops: facts.ttlSecurityHops ?? 1 });
      return reason('PeerPasswordRejected', { ...common, source: facts.passwordSource ?? '', finding: evidence.finding });
    case 'asn':
      return asMismatch(evidence);
    case 'routerId':
      return reason('RouterIDRejected', { ...common, by: evidence.by, routerID: facts.routerID, why: evidence.detail });
    case 'holdTime':
      return reason('HoldTimeRejected', { ...common, by: evidence.by, seconds: facts.holdTimeSeconds, why: evidence.detail });
    case 'families': {
      const why = evidence.by === 'us' ? evidence.detail : 'it refuses the families of this node';
      return reason('PeerFamilyMismatch', { ...common, why, families: facts.families });
    }
    case 'cease': {
      const { subcode, name, text } = evidence;
      if (subcode === ceaseBfdDown) return bfdDown('the router says so');
      const why = text === undefined ? name : `${name}: ${JSON.stringify(text)}`;
      return reason('PeerClosed', { ...common, subcode, why, localASN });
    }
    case 'protocol': {
      const { by, name, detail, isNoBgp = false } = evidence;
      const why = detail === '' ? name : `${detail} (${name})`;
      return reason('PeerProtocolError', { ...common, by, why, ...(isNoBgp && !wasEstablished ? { noBgpAt: port } : {}) });
    }
  }

  function unreachable(why: string): Reason {
    return reason('PeerUnreachable', {
      ...common,
      port,
      why,
      wasUp: wasEstablished,
      hints: wasEstablished ? '' : hintsOf(facts, common.local),
    });
  }

  function bfdDown(why: string): Reason {
    return reason('BFDDown', { ...common, why, profile: facts.bfdProfile, tcpWorks: false });
  }

  function asMismatch({ by, said = 0 }: SessionEvidence & { readonly kind: 'asn' }): Reason {
    const ours =
      by === 'us' ? { field: facts.peerASNField, value: facts.peerASN } : { field: facts.localASNField, value: String(localASN) };
    return reason('PeerASMismatch', { ...common, by, ...ours, said });
  }
}

/** A router drops packets silently that it does not accept, so these settings may be the cause as long as they never worked. */
function hintsOf({ passwordSource, ttlSecurityHops, isMultihop }: SessionFacts, local: string): string {
  const line = `neighbor ${local === '' ? 'ADDRESS-OF-THE-NODE' : local}`;
  const unequal = [
    `TCP MD5 password (${passwordSource ?? 'spec.passwordSecret'}; ${line} password)`,
    `TTL security (spec.ttlSecurityHops${ttlSecurityHops === undefined ? '' : `: ${ttlSecurityHops}`}; ${line} ttl-security hops)`,
    ...(isMultihop ? [] : [`multihop (spec.ebgpMultiHop; ${line} ebgp-multihop)`]),
  ];
  return `; and compare settings that make a router silent if they differ: ${unequal.join(', ')}`;
}
