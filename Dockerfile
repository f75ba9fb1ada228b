# The packages include the Node.js of the lock file, which runs the program without a build.
FROM node:26-trixie-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
COPY scripts/release-files.ts scripts/trim.ts ./scripts/
RUN node scripts/trim.ts .

FROM debian:trixie-slim
RUN apt-get update \
  && apt-get install --yes --no-install-recommends libatomic1 libstdc++6 \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin \
  && mkdir --mode=700 /data /backups \
  && chown 10001:10001 /data /backups
WORKDIR /app
# On PostgreSQL, files that people upload are in the default data folder: the file system of the program is read-only.
RUN ln -s /data data
COPY --from=packages /app/node_modules ./node_modules
COPY package.json lockstep LICENSE ./
COPY src ./src
COPY examples ./examples
USER 10001:10001
VOLUME /data
# An import stages records in temporary files, which SQLite would otherwise put on the read-only file system.
ENV LOCKSTEP_HOST=0.0.0.0 \
  LOCKSTEP_DATABASE_URL=sqlite:/data/lockstep.db \
  SQLITE_TMPDIR=/data
EXPOSE 5625
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node_modules/.bin/node", "--eval", "fetch(`http://127.0.0.1:${process.env.LOCKSTEP_PORT || 5625}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/app/lockstep"]
CMD ["serve"]
