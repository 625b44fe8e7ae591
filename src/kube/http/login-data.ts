/** PEM texts, and how to verify the server. */
export interface TlsMaterial {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

export interface LoginData {
  readonly tls: TlsMaterial;
  /** Headers of every request, with lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

export interface Login {
  /** URL of the API server, without a slash at its end. */
  readonly server: string;
  /** The namespace of commands that name none. */
  readonly namespace: string;
  /** What to log in with now. Files are read again each time, because they rotate. */
  read(): Promise<LoginData>;
}
