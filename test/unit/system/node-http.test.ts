import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');

test('a process that serves HTTP and reads the API server does not load the HTTP client of Node.js', () => {
  const modules = ['src/system/http/http-listener.ts', 'src/system/http/local-socket.ts', 'src/kube/client/transport.ts'];
  const script = [
    ...modules.map((file) => `await import(${JSON.stringify(join(root, file))});`),
    'console.log(JSON.stringify(process.moduleLoadList.filter((name) => /undici/.test(name))));',
  ].join('\n');
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  expect(JSON.parse(output)).toEqual([]);
});
