import { firstOf, LinkedList, type ListNode, Turns } from '../base/turns.ts';

/** A key that waits for a worker, with its places in the two orders kept here. */
export interface Ticket {
  readonly key: string;
  priority: number;
  /** When it became ready, in monotonic milliseconds. */
  readySinceMs: number;
  inLine: ListNode<Ticket> | undefined;
  byAge: ListNode<Ticket> | undefined;
}

interface Line {
  readonly priority: number;
  readonly tickets: Turns<Ticket>;
}

/**
 * Tickets in two orders: a line for each priority, in which namespaces take turns; and all of them by how long they have
 * waited.
 *
 * Every operation takes constant time, apart from the search among the lines, of which there are a handful. Passing over
 * tickets whose key is held by a worker costs one step for each such key, so at most one for each worker.
 */
export class PriorityLines {
  /** Highest priority first; no line is empty. */
  readonly #lines: Line[] = [];
  readonly #ages = new LinkedList<Ticket>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** To the back of the line of its priority. */
  add(ticket: Ticket): void {
    this.#size += 1;
    ticket.byAge = this.#ages.push(ticket);
    ticket.inLine = this.#lineOf(ticket.priority).tickets.push(namespaceOf(ticket.key), ticket);
  }

  remove(ticket: Ticket): void {
    if (ticket.byAge === undefined) return;
    this.#size -= 1;
    this.#ages.remove(ticket.byAge);
    ticket.byAge = undefined;
    this.#leaveLine(ticket);
  }

  /** To the back of the line of another priority. What it has waited still counts. */
  move(ticket: Ticket, priority: number): void {
    this.#leaveLine(ticket);
    ticket.priority = priority;
    ticket.inLine = this.#lineOf(priority).tickets.push(namespaceOf(ticket.key), ticket);
  }

  /** Of the highest priority, the first that may go of the namespace whose turn it is. */
  best(mayGo: (ticket: Ticket) => boolean): Ticket | undefined {
    for (const { tickets } of this.#lines) {
      const found = tickets.first(mayGo);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The one that has waited longest and may go. */
  oldest(mayGo: (ticket: Ticket) => boolean): Ticket | undefined {
    return firstOf(this.#ages, mayGo);
  }

  clear(): void {
    this.#lines.length = 0;
    this.#ages.clear();
    this.#size = 0;
  }

  #leaveLine(ticket: Ticket): void {
    const index = this.#indexOf(ticket.priority);
    const line = this.#lines[index];
    if (line === undefined || ticket.inLine === undefined) return;
    line.tickets.remove(namespaceOf(ticket.key), ticket.inLine);
    ticket.inLine = undefined;
    if (line.tickets.next === undefined) this.#lines.splice(index, 1);
  }

  #lineOf(priority: number): Line {
    const index = this.#indexOf(priority);
    const found = this.#lines[index];
    if (found?.priority === priority) return found;
    const line = { priority, tickets: new Turns<Ticket>() };
    this.#lines.splice(index, 0, line);
    return line;
  }

  /** Where the line of the priority is or belongs. */
  #indexOf(priority: number): number {
    let low = 0;
    let high = this.#lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#lines[middle]?.priority ?? 0) > priority) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Of a key "namespace/name"; those without one are together. */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}
