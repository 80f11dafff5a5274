# One image for the web process, the Celery workers, beat and the trainer: they differ by their command alone,
# which compose.yaml names.
# docker build -f deploy/server.Dockerfile -t tengen-server .
FROM python:3.11-slim

RUN useradd --create-home --uid 10001 tengen
WORKDIR /app
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY requirements.txt requirements.lock ./
COPY client/requirements.txt client/requirements.txt
RUN pip install --no-cache-dir --constraint requirements.lock --index-url ${TORCH_INDEX} torch \
 && pip install --no-cache-dir --constraint requirements.lock -r requirements.txt
COPY manage.py gunicorn.conf.py LICENSE ./
COPY common common
COPY nets nets
COPY client client
COPY server server
RUN python manage.py collectstatic --noinput \
 && mkdir -p /data && chown tengen /data
USER tengen
ENV TENGEN_CACHE_DIR=/tmp/tengen PYTHONUNBUFFERED=1
EXPOSE 8000
