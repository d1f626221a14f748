import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { commands } from '../../../src/cli/command-list.ts';
import { herald } from './in-process.ts';
import { discard, heraldProcess, heraldProcessWithoutPrivileges, root, scratch, Service } from './program.ts';

/** Options of a process that listens nowhere: other processes may run on this host at the same time. */
const deaf = ['--socket', 'none', '--metrics-address', 'none', '--health-address', 'none'];

const fabric = ['10-cluster.yaml', '20-herald.yaml', '30-web.yaml', '40-ledger.yaml'];

describe('help', () => {
  test.each([['controller'], ['agent'], ['run'], ['plan'], ['explain'], ['explain', 'service'], []])(
    'herald %s --help shows an example',
    async (...command) => {
      const { code, stdout, stderr } = await herald([...command, '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: herald${command.map((word) => ` ${word}`).join('')}`);
      expect(stdout).toMatch(/\nExample:\n {2}.*herald /);
    },
  );
});

describe('a command that only reads and computes', () => {
  const pools = Array.from(
    { length: 5000 },
    (_, index) =>
      `apiVersion: cilium.io/v2\nkind: CiliumLoadBalancerIPPool\nmetadata: {name: p${index}}\nspec: {blocks: [{cidr: 10.${index >> 8}.${index & 255}.0/24}]}\n`,
  ).join('---\n');

  test.each([
    ['waits for input', false],
    ['computes', true],
  ])('ends at once by SIGTERM while it %s', async (_, isComplete) => {
    const child = spawn(join(root, 'bin/herald'), ['import', '-', '-o', 'report'], { stdio: ['pipe', 'ignore', 'ignore'] });
    // More than a pipe holds: the process has taken the rest when the last part is written.
    await new Promise<void>((resolve, reject) => child.stdin.write(pools, (error) => (error ? reject(error) : resolve())));
    if (isComplete) child.stdin.end();
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exit).toEqual([null, 'SIGTERM']);
  });
});

/**
 * A command line for each command, and what its process prints and how it ends. All other tests of commands run in the test's process, so this is
 * what shows that bin/herald and main.ts pass on words, both outputs and the exit status.
 */
describe('the process of each command', () => {
  const source = ['--source', 'examples/fabric'];
  const none = 'herald: there is no directory /no/such/place\n';
  const lines: Readonly<Record<string, readonly [words: readonly string[], code: number, stdout: unknown, stderr: unknown]>> = {
    controller: [['controller', '--source', '/no/such/place'], 1, '', none],
    agent: [['agent', '--bgp-listen', '99999'], 64, '', expect.stringContaining('[2001:db8::1]:179')],
    run: [['run', '/no/such/place'], 1, '', none],
    status: [['status', '--problems', ...source], 3, expect.stringContaining('AgentSilent'), ''],
    peers: [['peers', '--node', 'x', ...source], 1, '', expect.stringContaining('herald: there is no valid node x')],
    routes: [['routes', ...source], 0, expect.stringContaining('node1  tor1-v4  192.0.2.10/32'), ''],
    pools: [['pools', ...source], 0, expect.stringContaining('2 Services wait for an address.\n'), ''],
    endpoints: [['endpoints', 'shop/web', ...source], 0, expect.stringContaining('10.244.1.10:8080'), ''],
    explain: [['explain', 'service', 'shop/web', ...source], 0, expect.stringContaining('Service shop/web (LoadBalancer)\n'), ''],
    check: [['check', 'node', '--service', 'shop/web', '--socket', '/no/such/socket'], 1, '', expect.stringContaining('/no/such/socket')],
    ui: [['ui', '--port', '65536'], 64, '', expect.stringContaining('Write a port, 0 to 65535.')],
    history: [['history', 'service', 'shop/web', '--socket', 'none', '-o', 'json'], 1, expect.stringContaining('"shop/web"'), ''],
    plan: [['plan', '-f', 'examples/one-host', '--source', 'none'], 2, expect.stringContaining('default/web: none -> 198.51.100.1\n'), ''],
    drain: [['drain', 'none', ...source], 1, '', expect.stringContaining('none')],
    bgp: [['bgp', 'trace', '--peer', 'a', '--socket', '/no/such/socket'], 1, '', expect.stringContaining('/no/such/socket')],
    bundle: [['bundle', '--host', 'never', '--source', '/no/such/place', '-o', '/no/such/b.tar.gz'], 1, '', none],
    version: [['version', '--client'], 0, expect.stringMatching(/^herald \d+\.\d+\.\d+ \(Node\.js v/), ''],
    completion: [['completion', 'bash'], 0, expect.stringContaining('complete '), ''],
    aws: [['aws', 'iam-policy', '--cluster', 'a'], 0, expect.stringContaining('"aws:ResourceTag/herald.dev/cluster": "a"'), ''],
    import: [['import', 'metallb', '-f', '/no/such/file'], 1, '', expect.stringContaining('/no/such/file')],
  };

  test('the list has every command', () => {
    expect(Object.keys(lines)).toEqual(Object.keys(commands()));
  });

  test.each(Object.entries(lines))('herald %s', async (_, [words, code, stdout, stderr]) => {
    expect(await heraldProcess(...words)).toEqual({ code, stdout, stderr });
  });
});

describe('output that cannot be written', () => {
  test.each([
    [
      'standard output on a full disk',
      'bin/herald pools -f examples/fabric > /dev/full',
      1,
      'herald: standard output cannot be written: ENOSPC\n',
    ],
    ['a reader that has gone', 'bin/herald pools -f examples/fabric | true', 0, ''],
    ['standard error on a full disk', 'bin/herald pools -f /no/such/file 2> /dev/full', 1, ''],
  ])('%s is one line, and never a stack trace', async (_, line, code, told) => {
    const ended = await new Promise<{ readonly code: unknown; readonly stderr: string }>((resolve) => {
      execFile('sh', ['-c', line], { cwd: root }, (error, __, stderr) => resolve({ code: error?.code ?? 0, stderr }));
    });
    expect(ended).toEqual({ code, stderr: told });
  });
});

describe('mistakes on the command line', () => {
  test.each([
    ['an unknown command', ['controler'], 'Did you mean controller?'],
    ['an unknown option', ['explain', 'service', 'a', '--source', '.', '--outptu', 'x'], 'Did you mean --output?'],
    ['a missing required option', ['agent', '--source', '.'], '--node <name>'],
    ['a missing argument', ['explain', 'service', '--source', '.'], 'namespace/name'],
    ['an invalid port', ['agent', '--bgp-listen', '99999'], '[2001:db8::1]:179'],
    ['an unknown --on-stop mode', ['run', '.', '--on-stop', 'abruptly'], 'restart, shutdown'],
    ['an unknown format', ['explain', 'service', '--source', '.', 'a', '-o', 'xml'], 'text, wide, json'],
    [
      'a directory and a cluster',
      ['controller', '--source', '.', '--kubeconfig', 'x'],
      "'--kubeconfig <file>' cannot be used with option '--source <dir>'",
    ],
    ['an invalid --leader-elect', ['controller', '--leader-elect=maybe'], 'true, false'],
    [
      'the namespace of a Lease for a directory',
      ['controller', '--source', '.', '--leader-elect-namespace', 'x'],
      'cannot be used with option',
    ],
    ['an API server without a URL', ['agent', '--node', 'n', '--apiserver', '192.0.2.10'], 'https://192.0.2.10:6443'],
    ['an unknown option of plan', ['plan', '--fle', 'x', '-f', 'y'], 'Did you mean --file?'],
    ['a missing option of plan', ['plan'], '-f, --file <path>'],
  ])('%s gives exit status 64 and a hint', async (_, command, told) => {
    const { code, stdout, stderr } = await herald(command);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain(told);
    expect(stderr).toContain('herald --help lists the commands');
  });

  test('agent --cleanup-kube-proxy keeps rules while Herald forwards nothing, without --node or --source', async () => {
    const { code, stdout, stderr } = await heraldProcess('agent', '--cleanup-kube-proxy');
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain('Herald forwards no ClusterIPs on this node');
  });

  test.each([
    [['controller', '--source', '/no/such/place']],
    [['agent', '--node', 'n', '--source', '/no/such/place']],
    [['run', '/no/such/place']],
    [['explain', 'service', 'shop/web', '--source', '/no/such/place']],
    [['plan', '-f', '/no/such/place', '--source', 'none']],
    [['plan', '-f', '/no/such/place', '--source', '.']],
  ])('a missing directory is reported: %j', async (command) => {
    expect(await herald(command)).toEqual({ code: 1, stdout: '', stderr: 'herald: there is no directory /no/such/place\n' });
  });

  test('a missing directory is reported before anything is opened', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const health = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
    const words = ['run', '/no/such/place', '--health-address', health, '--metrics-address', 'none', '--socket', 'none'];
    const { stdout, stderr } = await herald(words);
    taken.close();
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: 'herald: there is no directory /no/such/place\n' });
  });

  test('a file in place of a directory is reported', async () => {
    expect((await herald(['explain', 'service', 'shop/web', '--source', 'package.json'])).stderr).toBe(
      'herald: package.json is not a directory\n',
    );
  });

  test('an unreadable directory is not read as empty, and an unwritable one stops the start', async () => {
    const directory = await scratch();
    try {
      await chmod(directory, 0o300);
      expect(await heraldProcessWithoutPrivileges('plan', '-f', directory, '--source', 'none')).toEqual({
        code: 1,
        stdout: '',
        stderr: `herald: ${directory} cannot be read: permission denied\n`,
      });
      await chmod(directory, 0o500);
      const because = 'permission denied: run this as root, or as the user that owns the directory';
      expect(await heraldProcessWithoutPrivileges('controller', '--source', directory, ...deaf)).toEqual({
        code: 1,
        stdout: '',
        stderr: `herald: ${directory}/.herald/controller.lock cannot be written: ${because}\n`,
      });
    } finally {
      await chmod(directory, 0o700);
      await discard(directory);
    }
  });
});

test('plan and explain report an unreadable folder instead of reading it as empty', async () => {
  const [directory, proposal] = [await scratch(...fabric), await scratch(...fabric)];
  await record(directory, 'web', '198.51.100.10', '2001:db8:100::10');
  await record(directory, 'ledger', '198.51.100.11', '2001:db8:100::11');
  await mkdir(join(directory, 'more'), { mode: 0o300 });
  await mkdir(join(proposal, 'others'), { mode: 0o300 });
  try {
    const fix = '(let this user list the folder: its content is unknown)';
    const plan = await heraldProcessWithoutPrivileges('plan', '-f', proposal, '--source', directory);
    expect(plan.stdout).toContain(`problem: ${directory}/more: cannot be read: EACCES ${fix}\n`);
    expect(plan.stdout).toContain(`problem: others: cannot be read: EACCES ${fix}\n`);
    expect(plan.stdout).toContain('Nothing would change in the part that could be read.');
    expect(plan).toMatchObject({ code: 1, stdout: expect.not.stringContaining('Nothing would change.') });
    const explained = await heraldProcessWithoutPrivileges('explain', 'service', 'shop/web', '--source', directory);
    expect(explained.stdout).toContain(`problem: more: cannot be read: EACCES ${fix}\n`);
    // Manifests for a cluster (-f) are read by other code.
    expect(await heraldProcessWithoutPrivileges('explain', 'service', 'shop/web', '-f', directory)).toEqual({
      code: 1,
      stdout: '',
      stderr: `herald: ${directory}/more cannot be read: EACCES\n`,
    });
  } finally {
    await Promise.all([directory, proposal].map(discard));
  }
});

describe('missing --source', () => {
  test.each([
    [
      'an agent outside a pod, without --source',
      ['agent', '--node', 'n', ...deaf],
      'Use --source DIR for a directory of manifests, or --kubeconfig FILE',
    ],
    ['a missing kubeconfig', ['controller', '--kubeconfig', '/no/such/file', ...deaf], '/no/such/file cannot be used: ENOENT'],
  ] as const)('a command without cluster or directory says what to add: %s', async (_, command, told) => {
    const { code, stdout, stderr } = await herald(command);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(told);
  });
});

describe('a copy of examples/fabric', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await scratch(...fabric);
  });
  afterAll(() => discard(directory));

  test('explain prints why a Service is announced', async () => {
    const { code, stdout } = await herald(['explain', 'service', 'shop/ledger', '-o', 'wide', '--source', directory]);
    expect(code).toBe(0);
    expect(stdout).toContain('Service shop/ledger (LoadBalancer)\n\nAddress    none yet: the controller has not assigned one');
    expect(stdout).toContain('Endpoints  2 ready');
    expect(stdout).toContain(
      'Node node3\n  no agent reports for node "node3"\n  fix: start the agent: the pod of DaemonSet herald-agent on node3; outside a cluster, herald agent --node node3',
    );
  });

  test('explain -o json prints one object', async () => {
    const { code, stdout } = await herald(['explain', 'service', 'shop/web', '--source', directory, '-o', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      service: 'shop/web',
      nodes: [{ node: 'node1' }, { node: 'node2' }, { node: 'node3' }],
      problems: [],
    });
  });

  test('plan without a directory in force reports everything as new', async () => {
    const { code, stdout } = await herald(['plan', '-f', directory, '--source', 'none']);
    expect(code).toBe(2);
    expect(stdout).toContain('shop/ledger: none -> 198.51.100.11, 2001:db8:100::11');
    expect(stdout).toContain('+ tor1-v6: start  on node1, node2, node3\n');
    expect(stdout).toContain('+ 192.0.2.10/32 to tor1-v4  on node1, node2, node3\n');
    // Service ledger has no pod on node3, and its policy is Local.
    expect(stdout).toContain('+ 198.51.100.11/32 to tor1-v4  on node1, node2\n');
    expect(stdout).toMatch(/4 addresses, 12 sessions, \d+ routes and \d+ rules would change\./);
  });

  test('plan of examples/one-host finds no problem, and its first address suits every client', async () => {
    const { code, stdout } = await herald(['plan', '-f', join(root, 'examples/one-host'), '--source', 'none']);
    expect(code).toBe(2);
    expect(stdout).toContain('default/web: none -> 198.51.100.1\n');
    expect(stdout).not.toMatch(/problem|warning/);
  });

  test('plan -o json prints one object, even when the reader stops early', async () => {
    const { stdout } = await herald(['plan', '-f', directory, '--source', 'none', '-o', 'json']);
    const { addresses, sessions, problems } = JSON.parse(stdout) as Record<string, unknown[]>;
    expect([addresses?.length, sessions?.length, problems?.length]).toEqual([2, 12, 0]);
  });

  test('plan | head ends silently', async () => {
    const command = `"${join(root, 'bin/herald')}" plan -f "${directory}" --source none -o json | true`;
    const stderr = await new Promise<string>((resolve) => execFile('sh', ['-c', command], (_, _stdout, stderr) => resolve(stderr)));
    expect(stderr).toBe('');
  });

  test('explain of a missing Service lists the Services that exist', async () => {
    const { code, stdout, stderr } = await herald(['explain', 'service', 'shop/wbe', '--source', directory]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      `herald: there is no valid Service shop/wbe in ${directory} (did you mean shop/web?): there are shop/ledger, shop/web\n`,
    );
  });
});

describe('a broken manifest', () => {
  let directory: string;
  afterEach(() => discard(directory));

  test('explain of a Service in a broken manifest names file, line, column and field', async () => {
    directory = await scratch('10-cluster.yaml');
    await writeFile(
      join(directory, 'web.yaml'),
      'apiVersion: v1\nkind: Service\nmetadata: { namespace: shop, name: web }\nspec:\n  clusterIP: 10.96.0.1\n  ports:\n    - port: eighty\n',
    );
    const { code, stderr } = await herald(['explain', 'service', 'shop/web', '--source', directory]);
    expect(code).toBe(1);
    expect(stderr).toContain('there is no valid Service shop/web');
    expect(stderr).toMatch(/\n {2}web\.yaml:7:7: Service\/shop\/web: spec\.ports\[0\]\.port: must be a whole number/);
  });

  test('explain names a manifest that is not valid YAML', async () => {
    directory = await scratch('10-cluster.yaml');
    await writeFile(join(directory, 'web.yaml'), 'apiVersion: v1\nkind: Service\nmetadata:\n\tname: web\n');
    const { code, stderr } = await herald(['explain', 'service', 'default/web', '--source', directory]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/\n {2}web\.yaml:4:\d+: not valid YAML/);
  });

  test('plan lists a broken manifest as a problem and plans the rest', async () => {
    directory = await scratch(...fabric);
    await writeFile(
      join(directory, 'pool.yaml'),
      'apiVersion: herald.dev/v1alpha1\nkind: IPAddressPool\nmetadata: { name: bad }\nspec: { adresses: [192.0.2.0/24] }\n',
    );
    const { code, stdout } = await herald(['plan', '-f', directory, '--source', 'none']);
    expect(code).toBe(1);
    expect(stdout).toContain('problem: pool.yaml:4:');
    expect(stdout).toContain('did you mean addresses?');
    expect(stdout).toContain('shop/web: none -> 198.51.100.10');
    expect(stdout).toContain('The proposal has errors, listed above');
  });

  test.each([
    ['in the same file', '30-web.yaml', 'port: 80, ', 'port: eighty, '],
    ['in a renamed file', '35-moved.yaml', 'port: 80, ', 'port: eighty, '],
    ['in an unreadable file', '30-web.yaml', 'kind: Service', 'kind: [Service'],
    ['in a file that was emptied', '30-web.yaml', /^[^]*$/, ''],
  ])('plan compares a broken object in its current version, as an edit would leave it: %s', async (_, file, from, to) => {
    directory = await scratch(...fabric);
    await record(directory, 'web', '198.51.100.10', '2001:db8:100::10');
    await record(directory, 'ledger', '198.51.100.11', '2001:db8:100::11');
    const proposal = await scratch(...fabric.filter((name) => name !== '30-web.yaml'));
    try {
      await writeFile(join(proposal, file), (await readFile(join(directory, '30-web.yaml'), 'utf8')).replace(from, to));
      const { code, stdout } = await herald(['plan', '-f', proposal, '--source', directory]);
      expect(stdout).toMatch(/^(problem|warning): 3/);
      expect(stdout).toContain(to === '' ? 'Nothing would change.' : 'Nothing would change in the part that could be read.');
      expect(code).toBe(to === '' ? 0 : 1);
    } finally {
      await discard(proposal);
    }
  });
});

/** Records addresses of a Service in namespace shop, as the controller does. */
async function record(directory: string, name: string, ...addresses: string[]): Promise<void> {
  const ingress = addresses.map((ip) => ({ ip }));
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: 'shop', name },
    status: { loadBalancer: { ingress } },
  });
  await mkdir(join(directory, '.herald/status/services/shop'), { recursive: true });
  await writeFile(join(directory, '.herald/status/services/shop', `${name}.yaml`), text);
}

describe('herald run', () => {
  let directory: string;
  afterEach(() => discard(directory));

  test('herald run without a Node manifest says what to add, and ends', async () => {
    directory = await scratch('30-web.yaml');
    const { code, stderr } = await herald(['run', directory]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/there is no Node manifest\. Add a Node named \S+, or use --node NAME/);
  });

  test('herald run with Nodes of other hosts names them', async () => {
    directory = await scratch('10-cluster.yaml');
    const { code, stderr } = await herald(['run', directory]);
    expect(code).toBe(1);
    expect(stderr).toContain('the Node manifests are node1, node2, node3');
  });
});

describe('herald controller', () => {
  let directory: string;
  let controller: Service | undefined;
  afterEach(async () => {
    await controller?.end('SIGKILL');
    await discard(directory);
  });

  async function recorded(name: string): Promise<{ addresses: string[]; conditions: Record<string, string> }> {
    const text = await readFile(join(directory, '.herald/status/services/shop', `${name}.yaml`), 'utf8');
    const { status } = parse(text) as {
      status: { loadBalancer: { ingress: { ip: string }[] }; conditions: { type: string; status: string }[] };
    };
    return {
      addresses: status.loadBalancer.ingress.map(({ ip }) => ip),
      conditions: Object.fromEntries(status.conditions.map(({ type, status }) => [type, status])),
    };
  }

  test('a controller locks its directory, keeps addresses over a restart, and stops on SIGTERM', async () => {
    directory = await scratch(...fabric);
    controller = new Service('controller', '--source', directory);
    await controller.line(({ msg }) => msg === 'controller started');
    for (const service of ['shop/web', 'shop/ledger'])
      await controller.line((line) => line['service'] === service && line['msg'] === 'address assigned');

    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const health = `127.0.0.1:${(taken.address() as AddressInfo).port}`;
    const ports = ['--health-address', health, '--metrics-address', 'none', '--socket', 'none'];
    const [second, whole] = await Promise.all([
      heraldProcess('controller', '--source', directory, ...ports),
      heraldProcess('run', directory, '--node', 'node1', ...ports),
    ]);
    taken.close();
    // The lock is checked before any port is opened, so no message about a used port.
    expect([second, whole]).toMatchObject([
      { code: 1, stdout: '' },
      { code: 1, stdout: '' },
    ]);
    expect(whole.stderr).toContain('already works on this directory');
    expect(second.stderr).toContain(`process ${controller.pid} on `);
    expect(second.stderr).toContain('already works on this directory');

    expect(await controller.end('SIGTERM')).toBe(0);
    expect(await recorded('ledger')).toMatchObject({
      addresses: ['198.51.100.11', '2001:db8:100::11'],
      conditions: { 'herald.dev/AddressAssigned': 'True' },
    });
    expect(await recorded('web')).toMatchObject({
      addresses: ['198.51.100.10', '2001:db8:100::10'],
      conditions: { 'herald.dev/Programmed': 'Unknown' },
    });

    expect(await herald(['plan', '-f', directory, '--source', directory])).toMatchObject({ code: 0, stdout: 'Nothing would change.\n' });
    const explained = await herald(['explain', 'service', 'shop/web', '--source', directory]);
    expect(explained.stdout).toContain('Address    198.51.100.10 (pool public), 2001:db8:100::10 (pool public)');

    // A Service that sorts earlier by name does not take their addresses.
    const earlier = (await readFile(join(directory, '40-ledger.yaml'), 'utf8'))
      .replaceAll('ledger', 'abacus')
      .replaceAll('::20"', '::30"')
      .replaceAll('10.96.0.20', '10.96.0.30');
    await writeFile(join(directory, '.abacus.swp'), earlier);
    await rename(join(directory, '.abacus.swp'), join(directory, '05-abacus.yaml'));
    controller = new Service('controller', '--source', directory);
    await controller.line((line) => line['service'] === 'shop/abacus' && line['msg'] === 'address assigned');
    expect(await controller.end('SIGTERM')).toBe(0);
    expect((await recorded('ledger')).addresses).toEqual(['198.51.100.11', '2001:db8:100::11']);
    expect((await recorded('abacus')).addresses).toEqual(['198.51.100.12', '2001:db8:100::12']);
  });
});
