export interface HeapItem {
  /** Place in the heap, kept by the heap; -1 outside. */
  heapIndex: number;
}

/** A binary heap whose items know their place, so that any of them can be moved or removed in logarithmic time. */
export class IndexedHeap<T extends HeapItem> {
  readonly #items: T[] = [];
  readonly #before: (left: T, right: T) => boolean;

  constructor(before: (left: T, right: T) => boolean) {
    this.#before = before;
  }

  get first(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    item.heapIndex = this.#items.length;
    this.#items.push(item);
    this.#rise(item);
  }

  remove(item: T): void {
    const index = item.heapIndex;
    const last = this.#items.pop();
    item.heapIndex = -1;
    if (last === undefined || last === item) return;
    this.#put(last, index);
    this.moved(last);
  }

  /** To be called after the order of an item changed. */
  moved(item: T): void {
    this.#rise(item);
    this.#sink(item);
  }

  clear(): void {
    this.#items.length = 0;
  }

  #rise(item: T): void {
    while (item.heapIndex > 0) {
      const parent = this.#items[(item.heapIndex - 1) >> 1];
      if (parent === undefined || !this.#before(item, parent)) return;
      this.#swap(item, parent);
    }
  }

  #sink(item: T): void {
    for (let child = this.#firstChild(item); child !== undefined; child = this.#firstChild(item)) {
      if (!this.#before(child, item)) return;
      this.#swap(child, item);
    }
  }

  #firstChild(item: T): T | undefined {
    const left = this.#items[2 * item.heapIndex + 1];
    const right = this.#items[2 * item.heapIndex + 2];
    if (left === undefined || right === undefined) return left;
    return this.#before(right, left) ? right : left;
  }

  #swap(left: T, right: T): void {
    const index = left.heapIndex;
    this.#put(left, right.heapIndex);
    this.#put(right, index);
  }

  #put(item: T, index: number): void {
    item.heapIndex = index;
    this.#items[index] = item;
  }
}
