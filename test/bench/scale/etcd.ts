const keysAtOnce = 48;

/**
 * Writes objects into etcd, in JSON, which kube-apiserver reads as well as its own encoding. Creating 50,000 Services and their
 * EndpointSlices through the API server would take an hour on a small machine.
 */
export async function putAll(port: number, objects: Iterable<readonly [string, object]>): Promise<number> {
  let written = 0;
  let batch: object[] = [];
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    const answer = await fetch(`http://127.0.0.1:${port}/v3/kv/txn`, { method: 'POST', body: JSON.stringify({ success: batch }) });
    if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
    written += batch.length;
    batch = [];
  };
  for (const [key, value] of objects) {
    batch.push({ requestPut: { key: base64(`/registry/${key}`), value: base64(JSON.stringify(value)) } });
    if (batch.length >= keysAtOnce) await flush();
  }
  await flush();
  return written;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
