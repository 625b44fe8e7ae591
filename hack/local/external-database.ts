import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { CodedError, messageOf } from '../../src/base/errors.ts';
import type { DatabaseServer } from './database-server.ts';
import { type Flavour, flavours } from './flavours.ts';

const connectTimeoutMs = 10_000;
const defaultPort = 3306;

interface Access {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

/** A server not started by us, named by a URL in the environment. */
export async function externalDatabase(flavour: Flavour, url: string): Promise<DatabaseServer> {
  const variable = flavours[flavour].urlVariable;
  const access = parseUrl(variable, url);
  const version = await askVersion(flavour, access);
  const refusal = (verb: string): CodedError =>
    new CodedError(
      'LOCAL_DATABASE_EXTERNAL',
      `Cannot ${verb} the server that ${variable} names. Unset ${variable} to get a server of our own that can be.`,
    );
  const throwRefusal = (verb: string): never => {
    throw refusal(verb);
  };
  return {
    flavour,
    version,
    host: access.host,
    port: access.port,
    rootUser: access.user,
    rootPassword: access.password,
    external: true,
    process: undefined,
    directory: undefined,
    clientCommand: (database) => clientCommand(flavour, access, database),
    stop: () => Promise.reject(refusal('stop')),
    kill: () => Promise.reject(refusal('kill')),
    start: () => Promise.reject(refusal('start')),
    pause: () => throwRefusal('pause'),
    resume: () => throwRefusal('resume'),
    dispose: () => Promise.resolve(),
  };
}

function parseUrl(variable: string, text: string): Access {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The text is not shown: it has a password.
  if (url?.protocol !== 'mysql:' || url.hostname === '' || url.username === '') {
    throw new CodedError('LOCAL_DATABASE_URL', `${variable} must look like mysql://user:password@host:port.`);
  }
  return {
    host: url.hostname,
    port: url.port === '' ? defaultPort : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
}

async function askVersion(flavour: Flavour, access: Access): Promise<string> {
  const { urlVariable, lowest, accepts } = flavours[flavour];
  const text = await queryVersion(access).catch((error: unknown) => {
    const why = messageOf(error) || 'no answer';
    throw new CodedError('LOCAL_DATABASE_URL', `Cannot use the server that ${urlVariable} names: ${why}`, {
      cause: error,
    });
  });
  const version = accepts(text);
  if (version !== undefined) return version;
  throw new CodedError(
    'LOCAL_DATABASE_URL',
    `The server that ${urlVariable} names is version ${text}; this needs ${flavour} ${lowest} or newer.`,
  );
}

async function queryVersion(access: Access): Promise<string> {
  const connection = await createConnection({ ...access, connectTimeout: connectTimeoutMs });
  try {
    const [rows] = await connection.query<RowDataPacket[]>(
      'SELECT CONCAT(VERSION(), " ", @@version_comment) AS version',
    );
    return String(rows[0]?.['version']);
  } finally {
    await connection.end();
  }
}

function clientCommand(flavour: Flavour, { host, port, user }: Access, database: string | undefined): string[] {
  return [
    flavour,
    `--host=${host}`,
    `--port=${port}`,
    '--protocol=TCP',
    `--user=${user}`,
    // Without a value the client asks for it: an argument is visible to every user of the machine.
    '--password',
    ...(database === undefined ? [] : [database]),
  ];
}
