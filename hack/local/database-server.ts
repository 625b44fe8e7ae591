import type { Flavour } from './flavours.ts';
import type { ServerProcess } from './server-process.ts';

/** A MySQL or MariaDB server for tests and the demo. */
export interface DatabaseServer {
  readonly flavour: Flavour;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  /** An administrator, usable over TCP. */
  readonly rootUser: string;
  readonly rootPassword: string;
  /** Not started by us: it cannot be stopped, and what is made in it stays. */
  readonly external: boolean;
  /** Undefined where it is external. */
  readonly process: ServerProcess | undefined;
  /** Everything of this server lives in it. */
  readonly directory: string | undefined;
  /** A command line for a user who wants to run SQL as the administrator. */
  clientCommand(database?: string): string[];
  /** Ends it cleanly; its data stay. */
  stop(): Promise<void>;
  /** Ends it as a crash would; what it committed stays. */
  kill(): Promise<void>;
  /** Runs it again on the same port with the same data. */
  start(): Promise<void>;
  /** Freezes it: it accepts connections and answers nothing. */
  pause(): void;
  resume(): void;
  /** Ends it and removes its directory. Calling it again is harmless. */
  dispose(): Promise<void>;
}
