// One connection of HTTP/1.1 to an upstream, and the call that it carries. Reads may come in memory that all connections share: what has to
// wait is copied then.
import type { Socket } from 'node:net';
import { AnswerFault } from '../core/http/answer-fault.ts';
import type { AnswerHead } from '../core/http/answer-head.ts';
import { type AnswerEvents, AnswerParser } from '../core/http/answer-parser.ts';
import type { AnswerSource } from './answer-writer.ts';
import { informationalSources } from './informational-sources.ts';
import { inOwnTurn } from './own-turns.ts';
import type { CallCarrier, PlainCall } from './plain-call.ts';
import { tellBreaks } from './tell-breaks.ts';

export interface ConnectionOwner {
  /** The call is over, and the connection may carry another one for `kept_ms`, where the upstream has told that. */
  onRest(connection: PlainConnection, kept_ms: number | undefined): void;
  onGone(connection: PlainConnection): void;
  /** A call has failed that nobody has given up. */
  onFailure(call: PlainCall, error: Error): void;
  onHead(call: PlainCall, status: number, headers: readonly string[]): void;
  /** The deadline of a connection is set. */
  onDue(due_ms: number): void;
}

/** `shared`: its owner gives it the reads, in memory that is used again. `own`: it reads by itself. */
export type ReadMemory = 'shared' | 'own';

export class PlainConnection implements AnswerEvents, CallCarrier {
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #memory: ReadMemory;
  readonly #parser = new AnswerParser(this);
  readonly #hints: AnswerSource;
  #call: PlainCall | undefined;
  /** Reads that wait for a turn of their own. */
  #held: Buffer[] = [];
  #isQueued = false;
  /** An informational head waits for the caller. */
  #isBlocked = false;
  #hasEnded = false;
  #isStopped = false;
  #isAnswering = false;
  #mayStay = true;
  #kept_ms: number | undefined;
  isGone = false;
  /** How many calls it has carried. */
  calls = 0;
  /** The deadline on the clock of `performance.now`; infinite for none. */
  due_ms = Number.POSITIVE_INFINITY;

  constructor(socket: Socket, owner: ConnectionOwner, memory: ReadMemory = 'shared') {
    this.#socket = socket;
    this.#owner = owner;
    this.#memory = memory;
    this.#hints = { pause: () => this.#block(), resume: () => this.#unblock() };
    tellBreaks(socket);
    socket.on('error', (error) => this.end(error));
    socket.on('end', () => this.#onEnd());
    socket.on('close', () => this.end(new AnswerFault('UND_ERR_SOCKET', 'closed')));
    if (memory === 'shared') return;
    socket.on('data', (read: Buffer) => {
      if (!this.onRead(read)) socket.pause();
    });
    socket.resume();
  }

  /** False from the moment on in which its socket is destroyed, although nobody may be told of that yet. */
  get isOpen(): boolean {
    return !this.isGone && !this.#socket.destroyed;
  }

  /** False when the call was given up before. */
  send(call: PlainCall): boolean {
    if (!call.begin(this)) return false;
    this.#call = call;
    this.calls += 1;
    this.#isAnswering = false;
    this.#parser.begin();
    this.#setDue(call.limits.headersTimeout_ms);
    const { head, body } = call.request;
    const socket = this.#socket;
    if (body === null) {
      socket.write(head, 'latin1');
      return true;
    }
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
    return true;
  }

  /** Takes a read, whose memory it does not keep where that is shared. False when there should be no more of them for now. */
  onRead(read: Buffer): boolean {
    if (this.isGone) return false;
    const mustWait = this.#held.length > 0 || this.#isBlocked || this.#parser.isFine;
    // What nobody has asked for does not wait: the next call would take it for its answer.
    if (mustWait && this.#call !== undefined) {
      this.#held.push(Buffer.from(read));
      this.#queue();
    } else this.#take(read);
    this.#isStopped = this.#held.length > 0 || this.#call?.paused === true;
    return !this.#isStopped;
  }

  onBegin(): void {
    this.#call?.handler.onResponseStarted?.();
  }

  onHead(head: AnswerHead): void {
    const call = this.#call;
    if (call === undefined) return;
    const { status, headers } = head;
    if (status === 100 || status === 101) throw new AnswerFault('UND_ERR_SOCKET', 'nobody asked for this answer');
    if (status < 200) {
      this.#setDue(call.limits.headersTimeout_ms);
      informationalSources.set(headers, this.#hints);
    } else {
      this.#isAnswering = true;
      this.#mayStay = head.keepsAlive && !call.request.isLone;
      this.#kept_ms = head.kept_ms;
      this.#setDue(call.limits.bodyTimeout_ms);
      this.#owner.onHead(call, status, headers);
    }
    call.onHead(status, headers, head.phrase);
  }

  onData(bytes: Buffer): void {
    const call = this.#call;
    if (call === undefined) return;
    if (call.limits.bodyTimeout_ms > 0) this.#setDue(call.limits.bodyTimeout_ms);
    call.onData(this.#memory === 'own' ? bytes : Buffer.from(bytes));
  }

  onEnd(trailers: string[]): void {
    const call = this.#call;
    if (call === undefined) return;
    this.#call = undefined;
    call.carrier = undefined;
    this.due_ms = Number.POSITIVE_INFINITY;
    call.end(trailers);
    if (!this.#mayStay || this.#held.length > 0) this.drop();
    else if (!this.isGone) {
      this.#goOn();
      this.#owner.onRest(this, this.#kept_ms);
    }
  }

  pause(): void {
    this.#isStopped = true;
    this.#socket.pause();
  }

  resume(): void {
    const timeout_ms = this.#call?.limits.bodyTimeout_ms ?? 0;
    if (timeout_ms > 0) this.#setDue(timeout_ms);
    if (this.#held.length === 0) this.#goOn();
  }

  drop(): void {
    this.#call = undefined;
    this.end();
  }

  /** It carries no call, and is closed after so long without one. */
  restFor(kept_ms: number): void {
    this.#setDue(kept_ms);
  }

  /** Its deadline has passed. */
  onLate(): void {
    this.due_ms = Number.POSITIVE_INFINITY;
    const call = this.#call;
    if (call === undefined) this.drop();
    else if (!this.#isAnswering) this.end(new AnswerFault('UND_ERR_HEADERS_TIMEOUT', 'the answer is late'));
    else if (!call.paused) this.end(new AnswerFault('UND_ERR_BODY_TIMEOUT', 'the answer has stopped'));
  }

  /** Closes the connection, and fails the call that it carries. */
  end(error: Error = new AnswerFault('UND_ERR_SOCKET', 'closed')): void {
    if (this.isGone) return;
    this.isGone = true;
    this.#held = [];
    this.#socket.destroy();
    this.#owner.onGone(this);
    const call = this.#call;
    this.#call = undefined;
    if (call === undefined) return;
    this.#owner.onFailure(call, error);
    call.fail(error);
  }

  #take(read: Buffer): void {
    if (this.#call === undefined) {
      // Nobody has asked for anything.
      this.drop();
      return;
    }
    try {
      const taken_bytes = this.#parser.push(read);
      if (taken_bytes === read.length || this.isGone) return;
      if (this.#parser.isOver) this.drop();
      else {
        this.#held.unshift(Buffer.from(read.subarray(taken_bytes)));
        this.#queue();
      }
    } catch (error) {
      this.end(error as Error);
    }
  }

  #onEnd(): void {
    this.#hasEnded = true;
    if (this.#held.length > 0 || this.isGone) return;
    if (this.#call === undefined) {
      this.drop();
      return;
    }
    // The end of an answer that closes its connection is no break of the connection.
    const isLast = this.#isAnswering && !this.#mayStay;
    try {
      this.#parser.finish();
    } catch (error) {
      this.end(isLast ? new AnswerFault('HPE_INVALID_EOF_STATE', 'the answer is not whole') : (error as Error));
    }
  }

  #queue(): void {
    if (this.#isQueued || this.#isBlocked || this.#held.length === 0) return;
    this.#isQueued = true;
    inOwnTurn(this.#passHeld);
  }

  readonly #passHeld = (): void => {
    this.#isQueued = false;
    if (this.#isBlocked || this.isGone) return;
    const read = this.#held.shift();
    if (read !== undefined) this.#take(read);
    if (this.#held.length > 0) this.#queue();
    else if (this.#hasEnded) this.#onEnd();
    else if (this.#call?.paused !== true) this.#goOn();
  };

  #block(): void {
    this.#isBlocked = true;
  }

  #unblock(): void {
    this.#isBlocked = false;
    this.#queue();
  }

  #goOn(): void {
    if (!this.#isStopped || this.isGone) return;
    this.#isStopped = false;
    this.#socket.resume();
  }

  #setDue(timeout_ms: number): void {
    this.due_ms = timeout_ms === 0 ? Number.POSITIVE_INFINITY : performance.now() + timeout_ms;
    this.#owner.onDue(this.due_ms);
  }
}
