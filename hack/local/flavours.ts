// What differs between MySQL and MariaDB.
export type Flavour = 'mysql' | 'mariadb';

export interface FlavourFacts {
  /** The environment variable that names a server not started by us. */
  readonly urlVariable: string;
  readonly serverNames: readonly string[];
  readonly clientNames: readonly string[];
  /** Folders beside bin with the server's messages and scripts. */
  readonly shares: readonly string[];
  readonly packages: readonly string[];
  /** The release of Debian to take them from; without one, this system's own. */
  readonly suite: string | undefined;
  readonly lowest: string;
  /** What to do where no server can be had otherwise. */
  readonly advice: string;
  /** The version out of what a server says of itself, when it is this flavour and new enough. */
  readonly accepts: (versionText: string) => string | undefined;
  readonly arguments: readonly string[];
}

export const flavours: Readonly<Record<Flavour, FlavourFacts>> = {
  mysql: {
    urlVariable: 'INGESTER_MYSQL_URL',
    serverNames: ['mysqld'],
    clientNames: ['mysql', 'mariadb'],
    shares: ['share/mysql'],
    packages: ['mysql-server-core', 'mysql-client-core'],
    // The only release of Debian that has MySQL.
    suite: 'sid',
    lowest: '8.4',
    advice:
      'Put mysqld 8.4 or newer on PATH, or set INGESTER_MYSQL_URL=mysql://user:password@host:port, and try again.',
    accepts: (text) => (/mariadb/i.test(text) ? undefined : versionFrom(text, [8, 4])),
    arguments: ['--loose-mysqlx=OFF', '--secure-file-priv=NULL'],
  },
  mariadb: {
    urlVariable: 'INGESTER_MARIADB_URL',
    serverNames: ['mariadbd', 'mysqld'],
    clientNames: ['mariadb', 'mysql'],
    shares: ['share/mariadb', 'share/mysql'],
    packages: ['mariadb-server-core', 'mariadb-client-core'],
    suite: undefined,
    lowest: '10.11',
    advice:
      'Put mariadbd 10.11 or newer on PATH, or set INGESTER_MARIADB_URL=mysql://user:password@host:port, and try again.',
    accepts: (text) => (/mariadb/i.test(text) ? versionFrom(text, [10, 11]) : undefined),
    arguments: [],
  },
};

function versionFrom(text: string, lowest: readonly [number, number]): string | undefined {
  const [, version, major = '0', minor = '0'] = /((\d+)\.(\d+)\.\d+)/.exec(text) ?? [];
  const isNewEnough = Number(major) > lowest[0] || (Number(major) === lowest[0] && Number(minor) >= lowest[1]);
  return isNewEnough ? version : undefined;
}
