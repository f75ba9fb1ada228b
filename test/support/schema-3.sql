PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE migration (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at integer not null
) strict;
INSERT INTO migration VALUES(1,'records, accounts, tokens','696719e67254fcf354741251294b538da91e71d22e698ed70bb3014de43a8d54',1795318164219);
INSERT INTO migration VALUES(2,'sign-in','42cb5fdddad7071f69b9c8085aa58d6b6badbdd12feb4463227989cfa2c73996',1795318164219);
INSERT INTO migration VALUES(3,'records keyed by owner','e9868a13627401436b69196c7f9713d8836d8dd067d295d0aa52d1151aa1a658',1795318164219);
CREATE TABLE account (
        id integer primary key,
        username text not null unique,
        subscription_tier text,
        subscription_ends_at integer,
        document text not null,
        etag text not null,
        password_hash text
      ) strict;
INSERT INTO account VALUES(1,'ann','ultra',NULL,'{"id":1,"username":"ann","accountType":"user","subscriptionTier":"ultra","league":0,"rank":0,"totalPoints":0,"matchPoints":0,"profileImage":null,"profileDescription":null,"profileTitle":null}','i69-GEX4kvVFlprs6E--0y',NULL);
INSERT INTO account VALUES(2,'ben','ultra',NULL,'{"id":2,"username":"ben","accountType":"user","subscriptionTier":"ultra","league":0,"rank":0,"totalPoints":0,"matchPoints":0,"profileImage":null,"profileDescription":null,"profileTitle":null}','grZ7G4EW20fyjMZjOwCRbG',NULL);
CREATE TABLE partnership (
        owner_id integer not null references account (id) on delete cascade,
        partner_id integer not null references account (id) on delete cascade,
        primary key (partner_id, owner_id)
      ) strict;
INSERT INTO partnership VALUES(1,2);
CREATE TABLE token (
        id integer primary key autoincrement,
        account_id integer not null references account (id) on delete cascade,
        hash text not null unique,
        name text not null,
        last4 text not null,
        scopes text not null,
        created_at integer not null,
        expires_at integer,
        revoked_at integer,
        last_used_at integer
      ) strict;
INSERT INTO token VALUES(1,1,'22a60cb81611622d70850aa04e357336905d11cbc5d3ff1c54d83e99dc4cb028','Script','lAVk','lkbx:read dtt:read',1795318165954,NULL,NULL,NULL);
CREATE TABLE lock_template (
    id integer primary key,
    owner_id integer not null references account (id) on delete cascade,
    at integer not null,
    document text not null,
    etag text not null
  ) strict;
INSERT INTO lock_template VALUES(1,1,1767225600000,'{"id":1,"ownerId":1,"name":"Template 1","duration":3600,"isRandomDuration":false,"minDuration":null,"maxDuration":null,"isBreakEnabled":true,"breakRegularity":86400,"breakMaximum":1800,"breakPenalty":600,"breakKeyholderOnly":false,"isDeepthroatEnabled":false,"deepthroatTimeReduction":0,"isShameEnabled":false,"shameTimeAdd":0,"isEmergencyUnlockEnabled":true,"isPublic":false,"isPubliclyListed":false,"isTestLock":false,"isTimeDisplayed":true,"createdAt":"2026-01-01T00:00:00Z"}','aatwnGdBe5wV04zZAhp27Z');
CREATE TABLE lock_device (
    id integer primary key,
    owner_id integer not null references account (id) on delete cascade,
    document text not null,
    etag text not null
  ) strict;
INSERT INTO lock_device VALUES(1,1,'{"id":1,"bubbleId":"lock-device-1","macAddress":"02:00:00:00:00:01","ownerId":1,"locked":false,"hueShift":0,"lastVisited":null}','BJtj7x6DrPTbl3M9mXmCcU');
CREATE TABLE training_device (
    id integer primary key,
    owner_id integer not null references account (id) on delete cascade,
    document text not null,
    etag text not null
  ) strict;
INSERT INTO training_device VALUES(1,1,'{"id":1,"bubbleId":"training-device-1","ownerId":1,"macAddress":"02:00:00:00:00:02","serialNumber":7,"softwareVersion":"1.2.3","lastVisited":"2026-02-16T18:00:00Z","apiHits":3}','fk3K5kn_Z8DZeceldnq98i');
CREATE TABLE training_template (
    id integer primary key,
    owner_id integer not null references account (id) on delete cascade,
    at integer not null,
    is_public integer not null,
    is_active integer not null,
    summary text not null,
    document text not null,
    etag text not null
  ) strict;
INSERT INTO training_template VALUES(1,1,1767225600000,0,0,'{"id":1,"bubbleId":"program-1","ownerId":1,"name":"Program 1","description":"A program","tagline":"One line","message":"A message","isPublic":false,"isActive":false,"handsFreeMode":false,"targetDepth":10,"targetWindow":2,"toyId":null,"createdDate":"2026-01-01T00:00:00Z","updatedAt":"2026-01-02T00:00:00Z"}','{"id":1,"bubbleId":"program-1","ownerId":1,"name":"Program 1","description":"A program","tagline":"One line","message":"A message","isPublic":false,"isActive":false,"handsFreeMode":false,"targetDepth":10,"targetWindow":2,"toyId":null,"createdDate":"2026-01-01T00:00:00Z","updatedAt":"2026-01-02T00:00:00Z","Segment":[{"id":10,"type":"warmup","duration":60,"repeat":1},{"id":11,"type":"training","duration":60,"repeat":1}]}','c9HMgaRUW6U9ENEBbES_VL');
CREATE TABLE lock_session (
    id integer primary key,
    owner_id integer not null references account (id) on delete cascade,
    at integer not null,
    lock_state text not null,
    is_active integer not null,
    template_id integer,
    ended_at integer,
    events text not null,
    document text not null,
    etag text not null
  ) strict;
INSERT INTO lock_session VALUES(1,1,1769904000000,'completed',0,NULL,NULL,'[[1769904000000,1,"start"]]','{"id":1,"bubbleId":"lock-1","publicId":"public-1","ownerId":1,"name":"Lock 1","lockState":"completed","duration":7200,"startDate":"2026-02-01T00:00:00Z","isActive":false,"LockSegment":[{"id":10,"type":"start","createdAt":"2026-02-01T00:00:00Z","isLocked":true}]}','DCghwHuFl86KmKAVf-JKBC');
CREATE TABLE training_session (
    id integer primary key,
    owner_id integer not null references account (id) on delete cascade,
    at integer not null,
    passed integer not null,
    settings_id integer not null,
    segments integer not null,
    grade integer,
    reps integer not null,
    distance_um integer,
    approximate integer not null,
    kinds text not null,
    document text not null,
    etag text not null
  ) strict;
INSERT INTO training_session VALUES(1,1,1771264800000,1,1,1,80,19,NULL,0,'[["repetition",1,1,80]]','{"id":1,"bubble_id":"session-1","name":"Session 1","passed":true,"created_at":"2026-02-16T18:00:00Z","trainer_id":1,"settings_id":1,"TrainerSegment":[{"id":10,"type":"repetition","passed":true,"percentGrade":80,"points":12,"durationMeasured":61,"durationTarget":60,"repsMeasured":19,"repsTarget":20,"distanceTravelled":null}],"repsMeasured":19,"distanceTravelled":null}','Qo_EQLDtqGj5bHNieq-yM9');
CREATE TABLE note (name text primary key, value text not null) strict;
CREATE TABLE browser_session (
        id integer primary key autoincrement,
        account_id integer not null references account (id) on delete cascade,
        hash text not null unique,
        browser text not null,
        created_at integer not null,
        seen_at integer not null
      ) strict;
CREATE TABLE preference (
        account_id integer primary key references account (id) on delete cascade,
        display_name text not null,
        time_zone text not null,
        units text not null
      ) strict;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('token',1);
CREATE INDEX partnership_by_owner on partnership (owner_id, partner_id);
CREATE INDEX token_by_account on token (account_id);
CREATE INDEX lock_template_by_time on lock_template (owner_id, at, id);
CREATE INDEX lock_device_by_owner on lock_device (owner_id, id);
CREATE INDEX training_device_by_owner on training_device (owner_id, id);
CREATE INDEX training_template_active on training_template (owner_id, is_active, at, id);
CREATE INDEX training_template_by_time on training_template (owner_id, at, id);
CREATE INDEX lock_session_active on lock_session (owner_id, is_active, at, id);
CREATE INDEX lock_session_by_state on lock_session (owner_id, lock_state, at, id);
CREATE INDEX lock_session_by_time on lock_session (owner_id, at, id);
CREATE INDEX training_session_by_result on training_session (owner_id, passed, at, id);
CREATE INDEX training_session_by_time on training_session (owner_id, at, id);
CREATE INDEX browser_session_by_account on browser_session (account_id, id);
COMMIT;
