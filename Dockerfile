# ioopt with compiled kernels:  docker build -t ioopt . && docker run --rm ioopt compare cycle3
FROM python:3.11 AS build
COPY . /src
# This image has a C compiler; without one the kernels would be plain Python.
RUN IOOPT_NEED_KERNELS=1 pip wheel --no-cache-dir --no-deps -w /wheels /src
FROM python:3.11-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[plot,serve]" && rm -rf /wheels
ENV OMP_NUM_THREADS=1
RUN useradd --create-home --uid 1000 ioopt
USER 1000
WORKDIR /home/ioopt
ENTRYPOINT ["ioopt"]
CMD ["--help"]
