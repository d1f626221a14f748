import { describe, expect, it } from 'vitest';
import { examine } from '../foreign/examine.ts';
import { exabgpCases } from '../foreign/exabgp.ts';
import { suiteFolder } from './suite-folder.ts';

const marker = 'FF'.repeat(16);
const attributes = '40010100 40020602010000FDE9 400304C0000201'.replaceAll(' ', '');
const announcement = `${marker}:002E:02:00000014${attributes}:18C63364`.replace('002E', '002F');
const json = (nlri: string): string =>
  JSON.stringify({
    neighbor: {
      message: {
        update: {
          attribute: { origin: 'igp', 'as-path': { '0': { element: 'as-sequence', value: [65_001] } } },
          announce: { 'ipv4 unicast': { '192.0.2.1': [{ nlri }] } },
        },
      },
    },
  });

const findingsIn = (files: Readonly<Record<string, string>>): { verdict: string; text: string; section: string }[] =>
  exabgpCases(suiteFolder(files)).map(examine);

describe('messages of ExaBGP', () => {
  it('agrees with an announcement and its contents', () => {
    expect(findingsIn({ 'qa/encoding/a.ci': `1:raw:${announcement}\n1:json:${json('198.51.100.0/24')}\n` })).toMatchObject([
      { verdict: 'agrees' },
    ]);
  });

  it('reports contents that this codec reads otherwise', () => {
    expect(findingsIn({ 'qa/encoding/a.ci': `1:raw:${announcement}\n1:json:${json('198.51.101.0/24')}\n` })).toMatchObject([
      {
        verdict: 'deviates',
        section: 'RFC 4271 4.3',
        text: 'expected announce 198.51.101.0/24 via 192.0.2.1, found announce 198.51.100.0/24 via 192.0.2.1',
      },
    ]);
  });

  it('reports a valid message that this codec refuses, with the section of the fault', () => {
    const tooLong = announcement.replace('18C63364', '21C63364');
    expect(findingsIn({ 'qa/encoding/a.ci': `1:raw:${tooLong}\n` })).toMatchObject([{ verdict: 'deviates', section: 'RFC 7606 5.3' }]);
  });

  it('explains a message that breaks an RFC itself', () => {
    const loopback = announcement.replace('C0000201', '7F000001');
    expect(findingsIn({ 'qa/encoding/a.ci': `1:raw:${loopback}\n` })).toMatchObject([{ verdict: 'differs', section: 'RFC 4271 6.3' }]);
  });

  it('reads the options of the session from the configuration', () => {
    const withPath = `${marker}:0033:02:00000014${attributes}:00000007:18C63364`;
    const files = { 'qa/encoding/a.ci': `option:file:a.conf\n1:raw:${withPath}\n` };
    const configuration = 'neighbor { local-as 1; peer-as 2; capability { add-path send/receive; } }';
    expect(findingsIn({ ...files, 'etc/exabgp/a.conf': configuration })).toMatchObject([{ verdict: 'agrees' }]);
    const [found] = exabgpCases(
      suiteFolder({ ...files, 'etc/exabgp/a.conf': configuration.replace('add-path send/receive', 'asn4 disable') }),
    );
    expect(found?.session).toMatchObject({ fourOctetAsn: false, addPathReceive: [], internal: false });
  });

  it('adds the header to a decoded body without one, and leaves out single prefixes', () => {
    const body = `0000 0014 ${attributes} 18C63364`;
    const files = {
      'qa/decoding/a': `update ipv4 unicast\n${body}\n${json('198.51.100.0/24')}\n`,
      'qa/decoding/b': 'nlri bgp-ls\n0001\n{}\n',
    };
    expect(findingsIn(files)).toMatchObject([{ verdict: 'agrees' }]);
  });

  it('throws for a line that is no hexadecimal number', () => {
    expect(() => findingsIn({ 'qa/encoding/a.ci': '1:raw:FFG0\n' })).toThrow('qa/encoding/a.ci:1: is no even number of hexadecimal digits');
  });
});
