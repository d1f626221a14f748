import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bmp, type Bmp } from '../../src/bgp/extensions/bmp/index.ts';
import { Speaker, type Peer } from '../../src/bgp/index.ts';
import { until } from '../lab/until.ts';

/** One line of the message log of pmbmpd. */
interface Line {
  readonly event_type: 'log' | 'dump';
  readonly bmp_msg_type?: 'init' | 'peer_up' | 'peer_down' | 'stats' | 'term' | 'route_monitor';
  readonly log_type?: string;
  readonly ip_prefix?: string;
  readonly as_path?: string;
  readonly is_post?: number;
  readonly is_in?: number;
  readonly is_out?: number;
  readonly peer_asn?: number;
  readonly reason_type?: number;
  readonly bmp_init_info_sysname?: string;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = server.address();
  server.close();
  await once(server, 'close');
  return typeof at === 'object' && at !== null ? at.port : 0;
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** pmbmpd of pmacct decodes what a speaker with `bmp()` exports, on loopback addresses. */
describe('BMP export to pmbmpd', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-pmbmpd-'));
  const log = join(folder, 'messages.json');
  let collector: ChildProcess;
  let exported: Bmp;
  let speaker: Speaker;
  let router: Speaker;
  let seen: Peer;

  const lines = (): Line[] => {
    const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  };
  const of = (type: Line['bmp_msg_type']): Line[] => lines().filter(({ bmp_msg_type: found }) => found === type);
  const routes = (prefix: string): Line[] => of('route_monitor').filter(({ ip_prefix: found }) => found === prefix);

  beforeAll(async () => {
    const [bmpPort, bgpPort] = [await freePort(), await freePort()];
    const configuration = join(folder, 'pmbmpd.conf');
    const settings = { ip: '127.0.0.1', port: bmpPort, max_peers: 4, msglog_file: log, msglog_output: 'json' };
    const text = Object.entries(settings).map(([name, value]) => `bmp_daemon_${name}: ${value}\n`);
    writeFileSync(configuration, text.join(''));
    collector = spawn('pmbmpd', ['-f', configuration], { cwd: folder, stdio: 'ignore' });
    await once(collector, 'spawn');
    await until('pmbmpd listens', () => isOpen(bmpPort));
    exported = bmp({ host: '127.0.0.1', port: bmpPort, systemName: 'node1', statisticsTime: 1 });
    speaker = new Speaker({ asn: 64_512, routerId: '10.0.0.11', extensions: [exported] });
    router = new Speaker({ asn: 65_001, routerId: '10.0.0.1', listen: [{ address: '127.0.0.2', port: bgpPort }] });
    // An address of loopback is no next hop.
    router.addPeer({ address: '127.0.0.1', peerAsn: 64_512, passive: true, nextHop: { ipv4: '10.0.0.1' } });
    router.rib.set([
      { prefix: '198.51.100.0/24', communities: ['65001:7'] },
      { prefix: '203.0.113.0/24', asPathPrepend: 1 },
    ]);
    seen = speaker.addPeer({
      address: '127.0.0.2',
      port: bgpPort,
      peerAsn: 65_001,
      sourceAddress: '127.0.0.1',
      import: { rules: [{ prefixes: ['198.51.100.0/24'] }] },
    });
    speaker.rib.set([{ prefix: '192.0.2.1/32' }]);
    await seen.established({ signal: AbortSignal.timeout(20_000) });
    await until('the speaker connects to pmbmpd', () => exported.status()?.state === 'connected');
  });

  afterAll(async () => {
    await Promise.all([speaker.stop(), router.stop()]);
    collector.kill('SIGKILL');
    await once(collector, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });

  it('names the system and the peer', async () => {
    await until('pmbmpd logs the peer', () => of('peer_up').length > 0);
    expect(JSON.stringify(of('init'))).toContain('node1');
    expect(of('peer_up')).toMatchObject([{ peer_asn: 65_001 }]);
  });

  it('gives the received routes before and after the import rules, and the sent ones', async () => {
    await until('pmbmpd logs routes', () => routes('192.0.2.1/32').length > 0 && routes('198.51.100.0/24').length > 1);
    const views = (prefix: string): unknown[] =>
      routes(prefix).map(({ is_post: post = 0, is_out: out = 0, as_path: path }) => ({ post, out, path }));
    expect(views('198.51.100.0/24')).toContainEqual({ post: 0, out: 0, path: '65001' });
    expect(views('198.51.100.0/24')).toContainEqual({ post: 1, out: 0, path: '65001' });
    expect(views('203.0.113.0/24')).toContainEqual({ post: 0, out: 0, path: '65001 65001' });
    expect(views('203.0.113.0/24')).not.toContainEqual(expect.objectContaining({ post: 1 }));
    expect(views('192.0.2.1/32')).toContainEqual({ post: 1, out: 1, path: '64512' });
  });

  it('reports statistics', async () => {
    await until('pmbmpd logs statistics', () => of('stats').length > 0);
  });

  it('reports a withdrawal and the end of the session', async () => {
    router.rib.withdraw('198.51.100.0/24');
    await until('pmbmpd logs the withdrawal', () => routes('198.51.100.0/24').some(({ log_type: type }) => type === 'withdraw'));
    await router.stop();
    await until('pmbmpd logs the end of the session', () => of('peer_down').length > 0);
    expect(of('peer_down')).toMatchObject([{ peer_asn: 65_001 }]);
  });
});
