// The suites of the tests, from the fastest to the slowest, and what each needs.
import { availableParallelism } from 'node:os';

export interface Suite {
  readonly folders: readonly string[];
  /** Its tests start servers, and what fails in them may run a second time. */
  readonly servers: boolean;
  /** Its files share processes. */
  readonly together?: boolean;
  readonly concurrency: number;
}

const processors = availableParallelism();
/** Tests of servers wait for them a third of the time. */
const withServers = { servers: true, concurrency: processors + 1 };

export const suites: readonly Suite[] = [
  { folders: ['unit'], servers: false, together: true, concurrency: processors },
  { folders: ['property'], servers: false, concurrency: processors },
  { folders: ['contract', 'integration'], ...withServers },
  { folders: ['e2e', 'attack'], ...withServers },
  { folders: ['gitops'], servers: true, concurrency: 1 },
  { folders: ['kind'], servers: true, concurrency: 1 },
  { folders: ['vitess'], servers: true, concurrency: 1 },
];

/** They need what not every machine has, and have runs of their own: "npm run gitops", "npm run kind", "npm run vitess". */
export const apart: readonly string[] = ['gitops', 'kind', 'vitess'];
