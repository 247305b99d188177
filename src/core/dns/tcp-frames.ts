// Messages on a TCP connection, each after its length in two bytes (RFC 1035, TCP usage). Pure.
const LENGTH_BYTES = 2;

export function toFrame(message: Uint8Array): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** Returns a function that takes what is received; `onMessage` gets each whole message. At most 64 KB wait. */
export function createFrameReader(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let received = 0;
  return (chunk) => {
    parts.push(chunk);
    received += chunk.length;
    for (;;) {
      if (received < LENGTH_BYTES) return;
      let whole = parts.length === 1 ? (parts[0] ?? chunk) : undefined;
      // The length may lie in two pieces; the message is put together once all of it is there.
      const first = parts[0]?.length ?? 0;
      if (whole === undefined && first < LENGTH_BYTES) whole = Buffer.concat(parts);
      const length = (whole ?? parts[0] ?? chunk).readUInt16BE();
      if (received < LENGTH_BYTES + length) {
        if (whole !== undefined) parts = [whole];
        return;
      }
      whole ??= Buffer.concat(parts);
      const rest = whole.subarray(LENGTH_BYTES + length);
      parts = rest.length === 0 ? [] : [rest];
      received = rest.length;
      onMessage(whole.subarray(LENGTH_BYTES, LENGTH_BYTES + length));
    }
  };
}
