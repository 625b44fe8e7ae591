# The one image of all roles: the built program on Node with the libraries that Node loads, nothing else. BASE has Node in
# /usr/local/bin, npm and Debian's C library; it is named by its digest, a mirror or a newer one is
# --build-arg BASE=name@sha256:... Without a registry, hack/kind/base makes one. Needs BuildKit.
ARG BASE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
# Where one name does not stand for both architectures.
ARG TARGET_BASE=$BASE
FROM --platform=$BUILDPLATFORM $BASE AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY LICENSE tsconfig.json ./
COPY schema ./schema
COPY webhooks ./webhooks
COPY src ./src
COPY hack/build ./hack/build
ARG COMMIT=unknown
RUN node hack/build/main.ts /app

# Nothing of the other architecture is run: files are taken from it.
FROM $TARGET_BASE AS target

FROM build AS image
ARG SOURCE_DATE_EPOCH=0
RUN --mount=type=bind,from=target,target=/target node hack/build/image.ts /target /image /app

FROM scratch
ARG COMMIT=unknown
ARG VERSION=0.0.0
LABEL org.opencontainers.image.title="michelangelo-ingester" \
      org.opencontainers.image.description="Keeps Michelangelo's Kubernetes metadata in MySQL" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$COMMIT"
ENV NODE_ENV=production PATH=/usr/local/bin
COPY --from=image /image /
# A number, so that runAsNonRoot can be checked.
USER 65532:65532
ENTRYPOINT ["ingester"]
