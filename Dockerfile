# What the image adds to Debian. This stage runs on the machine that builds, so an image for another processor needs no emulation.
FROM --platform=$BUILDPLATFORM node:26-trixie-slim AS parts
ARG TARGETARCH
WORKDIR /parts
# A library that Node.js needs. On PostgreSQL, files that people upload are in the default data folder: the file system of the program is
# read-only.
RUN dpkg --add-architecture "$TARGETARCH" \
  && apt-get -o Acquire::Languages=none update \
  && apt-get download "libatomic1:$TARGETARCH" \
  && dpkg-deb --extract libatomic1_*.deb system \
  && mkdir -p system/var/lib/dpkg/status.d system/app \
  && dpkg-deb --field libatomic1_*.deb >system/var/lib/dpkg/status.d/libatomic1 \
  && ln -s /data system/app/data \
  && mkdir -p --mode=700 volumes/data volumes/backups
# The bundler, for this machine.
WORKDIR /tools
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
# What it bundles. The packages include the Node.js of the lock file.
WORKDIR /checkout
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$(echo "$TARGETARCH" | sed s/amd64/x64/)"
COPY lockstep LICENSE ./
COPY examples ./examples
COPY src ./src
COPY scripts/program.ts /tools/scripts/
RUN mkdir /app && node /tools/scripts/program.ts . /app "$(echo "$TARGETARCH" | sed s/amd64/x64/)"

# The platform is named because buildah 1.28 takes that of the stage before.
FROM --platform=$TARGETPLATFORM debian:trixie-slim
COPY --from=parts /parts/system /
COPY --from=parts --chown=10001:10001 /parts/volumes /
WORKDIR /app
COPY --from=parts /app ./
USER 10001:10001
VOLUME /data
# Imports and checks of backups need temporary files, which would otherwise be on the read-only file system.
ENV LOCKSTEP_HOST=0.0.0.0 \
  LOCKSTEP_DATABASE_URL=sqlite:/data/lockstep.db \
  TMPDIR=/data
EXPOSE 5625
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["bin/node", "--disable-sigusr1", "--eval", "fetch(`http://127.0.0.1:${Number(process.env.LOCKSTEP_PORT) || 5625}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/app/lockstep"]
CMD ["serve"]
